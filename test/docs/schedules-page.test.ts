import { expect, test } from 'vitest';
import type { Request } from '../../src/core/model/request.js';
import { timingProblems } from '../../src/core/request-validation/index.js';
import { previewTimes, readTimetable } from '../../src/core/schedules/index.js';
import { readPage } from './rules.js';

/** `| wish | words with \`"member": value\` |` of the table of recipes. */
const recipes = readPage('schedules.md')
  .split('## Recipes')[1]!
  .split('##')[0]!
  .split('\n')
  .flatMap((line) => {
    const [, wish, members] = /^\| (\S.*?) +\| .*?`(".*?)`.*\|$/.exec(line) ?? [];
    return wish && members ? [[wish, members] as const] : [];
  });

test('the page has a recipe for each wish', () => expect(recipes.length).toBeGreaterThan(15));

test.each(recipes)('the recipe "%s" is taken, and gives times', (_wish, members) => {
  const now = Date.UTC(2026, 0, 5, 12);
  const asked = JSON.parse(`{${members}}`) as Partial<Request>;
  const usual = asked.schedule === undefined && asked.schedules === undefined ? { schedule: '0 * * * *' } : {};
  const request: Request = { id: 'job', requestType: 'SCHEDULED', ...usual, ...asked };
  expect(timingProblems(request, { now })).toEqual([]);
  const timetable = readTimetable(request);
  if ('errors' in timetable) throw new Error(timetable.errors[0]!.message);
  const { times } = previewTimes(timetable, { after: now, count: 500, maxRuns: request.maxRuns });
  expect(times.filter(({ skipped }) => skipped === undefined).length).toBeGreaterThan(0);
  if (asked.exclusions)
    expect(times.some(({ skipped }) => skipped === 'EXCLUDED') || times[0]!.at < asked.exclusions[0]!.from!).toBe(true);
});

import { relative } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextTimes } from '../../src/core/schedules/index.js';
import { lawSettings } from '../support/law-settings.js';
import { anyRequestYear, drawAbsences } from './year/draw-year.js';
import { liveYear, tryKey } from './year/lived-year.js';
import { Closed, namedTimes } from './year/promised-times.js';
import { promisedYear } from './year/promised-year.js';
import { type Start, yearBegins, type YearCase } from './year/year-case.js';

/*
 * A year of 1,000 requests, over the changes of clocks in both halves of the world: leaders are killed at random, machines are full, tasks
 * fail or are lost, people pause requests. Each planned time has exactly the run that the members of its request say.
 */

const requests = 1_000;

/** The offset of a request goes by its id: it is told with any of its times. */
function offsetOf({ id, scheduleJitterMillis }: YearCase['request']): number {
  const [told] = nextTimes(
    { id, scheduleJitterMillis, schedule: '0 0 1 1 *' },
    undefined,
    Date.parse('2026-06-01T00:00:00Z'),
    1,
  );
  const offset = told!.at - Date.parse('2027-01-01T00:00:00Z');
  if (offset < 0 || offset >= (scheduleJitterMillis ?? 1))
    throw new Error(`${offset} is no offset within ${scheduleJitterMillis}`);
  return offset;
}

/** Starts in their order: those of one moment by their times. */
const inOrder = (starts: readonly Start[]): string[] =>
  starts.toSorted((a, b) => a.start - b.start || a.at - b.at || a.attempt - b.attempt).map(shown);

const shown = ({ at, attempt, start }: Start): string =>
  `${new Date(at).toISOString()} try ${attempt} starts ${new Date(start).toISOString()}`;

/** The first difference of two lists with what is around it; undefined: there is none. */
function difference(lived: readonly string[], promised: readonly string[]): string | undefined {
  const first = Array.from({ length: Math.max(lived.length, promised.length) }, (_, index) => index).find(
    (index) => lived[index] !== promised[index],
  );
  if (first === undefined) return undefined;
  const around = (lines: readonly string[]): string =>
    lines
      .slice(Math.max(0, first - 3), first + 4)
      .map((line) => `\n  ${line === lines[first] ? '>' : ' '} ${line}`)
      .join('');
  return `run ${first} differs\nlived: ${around(lived)}\npromised: ${around(promised)}`;
}

function hold(given: YearCase): number {
  const offsetMillis = offsetOf(given.request);
  const closed = new Closed(given);
  const planned = namedTimes(given, offsetMillis).filter((at) => closed.until(at) === undefined);
  const told = nextTimes(given.request, yearBegins, yearBegins, Math.min(30, planned.length)).map(({ at }) => at);
  expect(told.map((at) => new Date(at).toISOString())).toEqual(
    planned.slice(0, told.length).map((at) => new Date(at).toISOString()),
  );
  const { starts, retriesAt } = liveYear(given);
  const promised = promisedYear(given, { offsetMillis, retryAt: (at, attempt) => retriesAt.get(tryKey(at, attempt)) });
  const found = difference(inOrder(starts), inOrder(promised));
  if (found !== undefined) throw new Error(found);
  return starts.length;
}

test('each planned time of a year has exactly the run that its policies say, whenever leaders die', () => {
  const { seed = Date.now() % 2 ** 31, path } = lawSettings;
  const absences = drawAbsences(seed);
  let runs = 0;
  const property = fc.property(anyRequestYear(absences), (given) => {
    runs += hold(given);
  });
  const numRuns = lawSettings.runs ?? Math.ceil(requests * lawSettings.share);
  const details = fc.check(property, { seed, path, numRuns, endOnFailure: path !== undefined });
  if (!details.failed) {
    console.log(`${details.numRuns} requests, ${absences.length} leaders killed, ${runs} starts as promised`);
    return;
  }
  const file = relative(process.cwd(), expect.getState().testPath ?? '');
  const replay = `LAWS_SEED=${details.seed} LAWS_PATH='${details.counterexamplePath}' npm test -- ${file}`;
  const what = details.errorInstance instanceof Error ? details.errorInstance.message : String(details.errorInstance);
  const { absences: _, ...rest } = details.counterexample![0];
  throw new Error(`${what}\nReplay: ${replay}\nRequest: ${JSON.stringify(rest)}`);
}, 300_000);

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flowChecks } from './flows.js';
import { historyChecks } from './history.js';
import { missedChecks } from './missed-runs.js';
import { overlapChecks } from './overlaps.js';
import { RecipeProduct, replaceAll, type Check, type Job } from './product.js';
import { recipesOf, yamlOf } from './recipe-page.js';
import { retryChecks } from './retries.js';
import { timesChecks } from './times.js';

/** Each recipe of the pages, as it stands there, on one product. By page, then by wish. */
const checks: Record<string, Record<string, Check>> = {
  'schedules.md': { ...timesChecks, ...overlapChecks, ...missedChecks, ...retryChecks, ...historyChecks },
  'flows.md': flowChecks,
};
const pages = Object.keys(checks).map((page) => ({ page, recipes: recipesOf(page) }));

/** Recipes that are at work at a time: most of them wait for times to come. */
const atOnce = 24;

let product: RecipeProduct;
/** Ends of the checks by page and wish: they begin together, and each test waits for its own. */
const ends = new Map<string, Promise<void>>();

beforeAll(async () => {
  product = await RecipeProduct.start();
  const waiting = pages.flatMap(({ page, recipes }) =>
    recipes.map((recipe) => ({
      key: `${page} ${recipe.wish}`,
      check: () => checks[page]![recipe.wish]?.(recipe, product),
    })),
  );
  let running = 0;
  const turns: (() => void)[] = [];
  for (const { key, check } of waiting) {
    const turn = running++ < atOnce ? Promise.resolve() : new Promise<void>((begin) => turns.push(begin));
    const end = turn.then(check).finally(() => turns.shift()?.());
    // It fails its own test, when that waits for it.
    end.catch(() => undefined);
    ends.set(key, end);
  }
}, 90_000);
afterAll(() => product.dispose(), 90_000);

describe.each(pages)('$page', ({ page, recipes }) => {
  test('each recipe has a check, and each check its recipe', () => {
    const wishes = recipes.map(({ wish }) => wish);
    expect(wishes.toSorted()).toEqual(Object.keys(checks[page]!).toSorted());
    expect(new Set(wishes).size).toBe(wishes.length);
  });

  test.each(recipes)('$wish', ({ wish }) => ends.get(`${page} ${wish}`), 120_000);
});

test('the pages have the wishes of the list', () =>
  expect(pages.flatMap(({ recipes }) => recipes).length).toBeGreaterThanOrEqual(38));

test('the file of schedules.md makes a job with the members that it copies', async () => {
  const { id } = product.job();
  const file = replaceAll(yamlOf('schedules.md'), { nightly: id });
  expect(await product.command('muster apply -f - --wait', {}, file)).toContain(`request ${id}: created`);
  const { request, nextRuns } = await product.api.request(id);
  expect(request).toMatchObject({ overlapPolicy: 'BUFFER_ONE', missedRuns: { policy: 'LAST' } });
  expect(nextRuns?.every(({ local }) => /T03:00:00\+0[12]:00/.test(local))).toBe(true);
  expect(await product.command('muster schedule preview -f - --count 1', {}, file)).toContain('03:00');
});

test('the file of flows.md makes a flow of four jobs, whose runs are one flow', async () => {
  const jobs = ['load-orders', 'load-prices', 'report', 'night'].map((name) => product.job(name));
  const names = Object.fromEntries(jobs.map(({ id }) => [id.replace(/-\d+$/, ''), id]));
  await product.command('muster apply -f - --wait', {}, replaceAll(yamlOf('flows.md'), names));
  const [orders, prices, report, night] = jobs as [Job, Job, Job, Job];
  await night.run();
  const [end] = await report.untilEnded(1);
  const [first] = await night.untilEnded(1);
  const loads = [...(await orders.runs()), ...(await prices.runs())];
  expect(end!.parentRuns?.toSorted()).toEqual(loads.map(({ taskId }) => taskId).toSorted());
  expect(new Set([first!, ...loads, end!].map(({ flowId }) => flowId))).toEqual(new Set([first!.flowId]));
  expect(await report.output(end!)).toBe(`${report.id} of ${first!.flowId}\n`);
});

test.each([
  ['an offset in place of a zone', { scheduleTimeZone: '+05:30' }],
  ['a start of the scheduler as a time', { schedule: '@reboot' }],
  ['a crontab with a day of the month and a weekday', { schedule: '0 9 1 * MON' }],
  ['a schedule and a parent', { after: [{ requestId: 'load', on: 'SUCCESS' }] }],
])('%s is refused, as the pages say', async (_what, members) => {
  const { id } = product.job();
  const saved = product.api.post('requests', { id, requestType: 'SCHEDULED', schedule: '0 9 * * *', ...members });
  await expect(saved).rejects.toMatchObject({ status: 400 });
});

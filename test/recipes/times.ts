import { expect } from 'vitest';
import type { Request } from '../../src/core/model/request.js';
import { until, written, type Check, type RecipeProduct } from './product.js';
import type { Recipe } from './recipe-page.js';

const monday = '2026-01-05T12:00:00Z';
const second = 1_000;

/** The times of the recipe are these; and a request is saved with it, which has the times that the preview tells. */
const times =
  (expected: string[], { from = monday, ...own }: Partial<Request> & { from?: string } = {}): Check =>
  async ({ request }, product) => {
    const members = { ...own, ...request };
    expect(await product.preview(members, from, expected.length)).toEqual(expected);
    await keeps(product, members);
  };

async function keeps(product: RecipeProduct, members: Partial<Request>): Promise<void> {
  const job = await product.job().save({ ...members, requestType: 'SCHEDULED' });
  await job.deploy('true');
  const { request, nextRuns = [] } = await job.told();
  expect(request).toMatchObject(members);
  const [first] = nextRuns;
  const told = await product.preview({ ...members, id: job.id }, new Date(first!.at - 1).toISOString(), 40);
  const runs = told.filter((time) => /^\S{19}$/.test(time)).slice(0, nextRuns.length);
  expect(nextRuns.map(({ utc }) => utc.slice(0, 19))).toEqual(runs);
  await job.remove();
}

/** Times of a day that the recipe gives to jobs of these names. */
async function hashedTimes({ request }: Recipe, product: RecipeProduct, own: Partial<Request>): Promise<string[][]> {
  const ids = Array.from({ length: 12 }, (_, index) => `job-${index}`);
  const of = (id: string) => product.preview({ ...own, ...request, id }, monday, 4);
  const told = await Promise.all(ids.map(of));
  expect(await Promise.all(ids.map(of))).toEqual(told);
  expect(new Set(told.map((each) => each[0])).size).toBeGreaterThan(1);
  await keeps(product, { ...own, ...request });
  return told;
}
const clock = (time: string): string => time.slice(11, 16);
const minutesOf = (time: string): number => Date.parse(`${time}Z`) / 60_000;

export const timesChecks: Record<string, Check> = {
  '9:00 in Paris, in summer and winter': times(['2026-03-28T08:00:00', '2026-03-29T07:00:00'], {
    from: '2026-03-28T00:00:00Z',
  }),
  '9:00 in a zone with half an hour': times(['2026-01-06T03:30:00', '2026-01-07T03:30:00']),
  '9:00 in Tokyo, and 9:00 UTC': times(['2026-01-06T00:00:00', '2026-01-06T09:00:00', '2026-01-07T00:00:00']),
  '9:00 on weekdays, 11:30 at weekends': times(
    ['2026-01-09T09:00:00', '2026-01-10T11:30:00', '2026-01-11T11:30:00', '2026-01-12T09:00:00'],
    { from: '2026-01-08T12:00:00Z' },
  ),
  // The first of June 2026 is a Monday: one run.
  'the first of the month or a Monday': times(
    [
      '2026-05-25T09:00:00',
      '2026-06-01T09:00:00',
      '2026-06-08T09:00:00',
      '2026-06-15T09:00:00',
      '2026-06-22T09:00:00',
    ].concat(['2026-06-29T09:00:00', '2026-07-01T09:00:00']),
    { from: '2026-05-24T00:00:00Z' },
  ),
  'Friday the 13th': times(['2026-02-13T09:00:00', '2026-03-13T09:00:00', '2026-11-13T09:00:00']),
  'the second Tuesday of the month': times(['2026-01-13T03:00:00', '2026-02-10T03:00:00', '2026-03-10T03:00:00']),
  'the last day of the month': times(['2026-01-31T23:00:00', '2026-02-28T23:00:00', '2026-03-31T23:00:00']),
  // The last of January and of February 2026 is a Saturday.
  'the last working day of the month': times(['2026-01-30T18:00:00', '2026-02-27T18:00:00', '2026-03-31T18:00:00']),
  'every second Monday': times(['2026-01-19T09:00:00', '2026-02-02T09:00:00', '2026-02-16T09:00:00']),
  'every 90 minutes': times(['2026-01-05T13:30:00', '2026-01-05T15:00:00', '2026-01-05T16:30:00']),
  'every ten seconds': times(['2026-01-05T12:00:10', '2026-01-05T12:00:20', '2026-01-05T12:00:30']),
  'nothing from Friday 22:00 to Monday 06:00': times(
    [
      '2026-01-09T17:00:00',
      '2026-01-10T05:00:00 EXCLUDED',
      '2026-01-10T17:00:00 EXCLUDED',
      '2026-01-11T05:00:00 EXCLUDED',
      '2026-01-11T17:00:00 EXCLUDED',
      '2026-01-12T05:00:00 EXCLUDED',
      '2026-01-12T17:00:00',
    ],
    { schedule: '0 5,17 * * *', from: '2026-01-09T12:00:00Z' },
  ),
  'nothing at Christmas 2040': times(
    ['2040-12-24T03:00:00', '2040-12-25T03:00:00 EXCLUDED', '2040-12-26T03:00:00 EXCLUDED', '2040-12-27T03:00:00'],
    { schedule: '0 3 * * *', from: '2040-12-23T12:00:00Z' },
  ),

  'in March and April 2040 only': async ({ request }, product) => {
    const twice = { schedule: '0 3 1,15 * *', ...request };
    const all = ['2040-03-01', '2040-03-15', '2040-04-01', '2040-04-15'].map((day) => `${day}T03:00:00`);
    expect(await product.preview(twice, '2040-02-10T00:00:00Z', 9)).toEqual([...all, 'END_AT']);
    await keeps(product, twice);
    // The same two months, as seconds of now that begin when the deploy is there.
    const job = await product.job().eachSecond({ startAt: Date.now() + 3_600_000 }, 'true');
    const startAt = Date.now() + 4 * second;
    const endAt = startAt + 8 * second;
    await job.save({ ...(await job.told()).request, startAt, endAt });
    await job.untilState('FINISHED');
    const planned = (await job.runs()).map(({ scheduledAt }) => scheduledAt);
    expect(planned.length).toBeGreaterThan(0);
    expect(Math.min(...planned)).toBeGreaterThanOrEqual(startAt);
    expect(Math.max(...planned)).toBeLessThanOrEqual(endAt);
  },

  'ten runs, then no more': async ({ request }, product) => {
    const hourly = { schedule: '0 * * * *', ...request };
    expect(await product.preview(hourly, monday, 12)).toEqual([
      ...Array.from({ length: 10 }, (_, run) => `2026-01-05T${13 + run}:00:00`),
      'MAX_RUNS',
    ]);
    const job = await product.job().eachSecond(request, 'true');
    await job.untilState('FINISHED');
    const runs = await job.untilEnded(10);
    expect(new Set(runs.map(({ scheduledAt }) => scheduledAt)).size).toBe(10);
  },

  'ten minutes between the end of a run and the next one': async ({ request }, product) => {
    const rest = request.waitAtLeastMillisAfterTaskFinishesForReschedule!;
    const job = await product.job().eachSecond(request, 'true');
    const [first] = await job.untilEnded(1);
    const [next] = await until('the next run to be planned', async () => {
      const waiting = await job.waiting();
      return waiting.length > 0 && waiting;
    });
    expect(next!.pendingTaskId.nextRunAt - first!.endedAt!).toBeGreaterThanOrEqual(rest);
    await job.remove();
    const soon = await product
      .job()
      .eachSecond({ waitAtLeastMillisAfterTaskFinishesForReschedule: rest / 300 }, 'true');
    const runs = await soon.untilEnded(3);
    for (const [index, run] of runs.slice(1).entries())
      expect(run.startedAt - runs[index]!.endedAt!).toBeGreaterThanOrEqual(rest / 300);
    await soon.remove();
  },

  'once, at a given time': async ({ request }, product) => {
    expect(await product.preview(request, monday)).toEqual(['2040-01-01T06:00:00', 'NO_FURTHER_TIME']);
    const job = await product.job().eachSecond(request, 'true');
    const soon = Math.ceil(Date.now() / second) * second + 10 * second;
    const schedule = request.schedule!.replace('20400101T060000', written(soon));
    await job.save({ ...request, requestType: 'SCHEDULED', schedule });
    await job.untilState('FINISHED');
    expect((await job.untilEnded(1)).map(({ scheduledAt }) => scheduledAt)).toEqual([soon]);
  },

  'a run at a time of the next 30 days, beside the schedule': async ({ command }, product) => {
    const job = await product.job().eachSecond({ schedule: '0 0 3 1 1 ?' }, 'true');
    const soon = new Date(Date.now() + 4 * second).toISOString();
    await product.command(command!, { nightly: job.id, '2026-12-24T06:00:00Z': soon });
    const [run] = await job.untilEnded(1);
    expect(run!.startedAt).toBeGreaterThanOrEqual(Date.parse(soon));
    expect(run).toMatchObject({ trigger: 'RUN_NOW', state: 'TASK_FINISHED' });
    await job.remove();
  },

  'a run now, beside the schedule': async ({ command }, product) => {
    const job = await product.job().eachSecond({ schedule: '0 0 3 1 1 ?' }, 'echo "by $TASK_TRIGGER"');
    const planned = () =>
      until('a planned run', async () => {
        const times = (await job.waiting()).map(({ scheduledAt }) => scheduledAt);
        return times.length > 0 && times;
      });
    const before = await planned();
    expect(before).toHaveLength(1);
    expect(await product.command(command!, { nightly: job.id })).toBe('by RUN_NOW\n');
    expect(await planned()).toEqual(before);
    await job.remove();
  },

  'no runs for two hours': async ({ command }, product) => {
    const gate = product.gate();
    const job = await product.job().eachSecond({}, gate.command);
    await job.untilActive(1);
    await product.command(command!, { nightly: job.id });
    const { state, expiringPause } = await job.told();
    expect([state, expiringPause?.expiringAPIRequestObject?.durationMillis]).toEqual(['PAUSED', 7_200 * second]);
    gate.open();
    const [run, ...others] = await job.untilEnded(1);
    expect([run!.state, others]).toEqual(['TASK_FINISHED', []]);
    expect(await job.waiting()).toEqual([]);
    await job.unpause();
    // Of an earlier pause nothing is left to be done.
    await until('the end of the first pause', async () => {
      const cleanups = await product.api.get<{ requestId: string }[]>('requests/queued/cleanup');
      return cleanups.every(({ requestId }) => requestId !== job.id);
    });
    await product.command(command!, { nightly: job.id, '2h': '2s' });
    await job.untilState('ACTIVE');
    await job.remove();
  },

  'many jobs at midnight, spread over an hour': async (recipe, product) => {
    for (const told of await hashedTimes(recipe, product, { schedule: '0 0 * * *' })) {
      expect(told.every((time) => time.slice(10) === told[0]!.slice(10))).toBe(true);
      expect(clock(told[0]!)).toMatch(/^00:/);
    }
  },
  'once a night, at a minute that differs from job to job': async (recipe, product) => {
    for (const told of await hashedTimes(recipe, product, {})) {
      expect(told.every((time) => clock(time) === clock(told[0]!))).toBe(true);
      expect(clock(told[0]!)).toMatch(/^0[0-5]:/);
    }
  },
  'every 15 minutes, but not all jobs at once': async (recipe, product) => {
    for (const told of await hashedTimes(recipe, product, {}))
      for (const [index, time] of told.slice(1).entries()) expect(minutesOf(time) - minutesOf(told[index]!)).toBe(15);
  },
};

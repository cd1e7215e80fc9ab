import { expect } from 'vitest';
import type { Request } from '../../src/core/model/request.js';
import {
  hasEnded,
  mostAtOnce,
  until,
  untilTime,
  written,
  type Check,
  type Job,
  type RecipeProduct,
  type Run,
} from './product.js';
import type { Recipe } from './recipe-page.js';

const second = 1_000;
const day = 86_400 * second;
const times = (runs: Run[]): number[] => runs.map(({ scheduledAt }) => scheduledAt);

/** A job that is due `count` times, every two seconds from soon on. */
async function dueSoon(
  product: RecipeProduct,
  count: number,
  members: (first: number) => Partial<Request>,
  command = 'true',
) {
  const job = await product.job().eachSecond({ schedule: '0 0 3 1 1 ?' }, command);
  const first = Math.ceil(Date.now() / second) * second + 5 * second;
  const schedule = `DTSTART=${written(first)} RRULE:FREQ=SECONDLY;INTERVAL=2;COUNT=${count}`;
  await job.save({ requestType: 'SCHEDULED', scheduleType: 'RFC5545', schedule, ...members(first) });
  expect(Date.now()).toBeLessThan(first);
  return { job, planned: Array.from({ length: count }, (_, index) => first + 2 * index * second) };
}

/** Three of the times pass while the job is paused. */
async function pausedOver(product: RecipeProduct, request: Partial<Request>, count = 3, command?: string) {
  const { job, planned } = await dueSoon(product, count, () => request, command);
  await job.pause();
  await untilTime(planned[2]! + 200);
  expect(await job.runs()).toEqual([]);
  const resumedAt = Date.now();
  await job.unpause();
  return { job, planned, resumedAt };
}

/** The runs of a job that has nothing more to do. */
const runsOf = async (job: Job): Promise<Run[]> => {
  await job.untilState('FINISHED');
  await until('no run to wait', async () => (await job.waiting()).length === 0);
  return job.untilRuns('ends', (runs) => runs.every(hasEnded));
};

interface Backfill {
  id: string;
  succeeded: number;
  skipped: number;
  endedAt?: number;
}
/** What has become of the backfill of these days of March, which is as many as the command says. */
async function backfilled({ command }: Recipe, product: RecipeProduct, job: Job) {
  await product.command(command!, { nightly: job.id });
  const path = `requests/request/${job.id}/backfills`;
  return until('the end of the backfill', async () => {
    const [newest] = await product.api.get<Backfill[]>(path);
    return newest?.endedAt !== undefined && newest;
  });
}
const march = [1, 2, 3, 4, 5, 6, 7].map((date) => Date.UTC(2026, 2, date, 3));
const daily = (product: RecipeProduct, command = 'true') =>
  product.job().eachSecond({ schedule: '0 0 3 * * ?' }, command);

export const missedChecks: Record<string, Check> = {
  'on time, or not at all': async ({ request }, product) => {
    const { job, planned, resumedAt } = await pausedOver(product, request, 12);
    const runs = await runsOf(job);
    expect(runs.length).toBeGreaterThan(0);
    for (const { scheduledAt } of runs) {
      expect(planned).toContain(scheduledAt);
      expect(scheduledAt).toBeGreaterThan(resumedAt - request.missedRuns!.withinMillis!);
    }
  },

  'late by an hour at most': async ({ request }, product) => {
    const { policy, withinMillis } = request.missedRuns!;
    expect([policy, withinMillis]).toEqual(['SKIP', 3_600 * second]);
    // Late by seconds it runs; where a second takes the place of the hour, it does not.
    const [{ job, planned }, { job: other }] = await Promise.all([
      pausedOver(product, request),
      pausedOver(product, { missedRuns: { policy, withinMillis: withinMillis! / 3_600 / 10 } }),
    ]);
    const [late, ...more] = await runsOf(job);
    expect(late!.scheduledAt).toBe(planned[2]);
    expect(late!.startedAt).toBeGreaterThan(planned[2]!);
    expect(more).toEqual([]);
    expect(await runsOf(other)).toEqual([]);
  },

  'one run for all missed times, also after a pause': async ({ request }, product) => {
    const [{ job, planned }, { job: usual }] = await Promise.all([
      pausedOver(product, request),
      pausedOver(product, {}),
    ]);
    const [run, ...more] = await runsOf(job);
    expect(run!.scheduledAt).toBe(planned[2]);
    expect(more).toEqual([]);
    expect(await runsOf(usual)).toEqual([]);
  },

  'each missed run of the last day, at most 100': async ({ request }, product) => {
    expect(request.missedRuns!.withinMillis).toBe(day);
    const { job, planned } = await pausedOver(product, request);
    const runs = await runsOf(job);
    expect(times(runs)).toEqual(planned);
    expect(mostAtOnce(runs)).toBe(1);
  },

  'each missed run, and each time that comes meanwhile': async ({ request }, product) => {
    // Each run takes longer than the interval.
    const { job, planned } = await pausedOver(product, request, 6, 'sleep 3');
    const runs = await runsOf(job);
    expect(times(runs)).toEqual(planned);
    expect(mostAtOnce(runs)).toBe(1);
  },

  'one run after a window for the times in it': async ({ request }, product) => {
    const hourly = { schedule: '0 21,23 * * *', ...request };
    const told = await product.preview(hourly, '2026-01-09T12:00:00Z', 3);
    expect(told).toEqual(['2026-01-09T21:00:00', '2026-01-09T23:00:00 EXCLUDED', '2026-01-10T21:00:00 EXCLUDED']);
    // A window of now in place of the one at the weekend.
    let to = 0;
    const { job, planned } = await dueSoon(product, 3, (first) => {
      to = first + 5 * second;
      const later = written(first + 60 * second);
      const schedule = `DTSTART=${written(first)} RDATE=${later} RRULE:FREQ=SECONDLY;INTERVAL=2;COUNT=3`;
      return { ...request, schedule, exclusions: [{ from: first - second, to }] };
    });
    const [run] = await job.untilEnded(1);
    expect(run!.scheduledAt).toBe(planned[2]);
    expect(run!.startedAt).toBeGreaterThanOrEqual(to);
    expect(await job.runs()).toHaveLength(1);
    await job.remove();
  },

  'the planned day, also in a late run': async ({ deploy }, product) => {
    const { job, planned } = await dueSoon(product, 1, () => ({ missedRuns: { policy: 'LAST' } }), deploy.command);
    await job.pause();
    await untilTime(planned[0]! + second);
    await job.unpause();
    const [run] = await runsOf(job);
    expect(run!.scheduledAt).toBe(planned[0]);
    expect(await job.output(run!)).toBe(`load of ${new Date(planned[0]!).toISOString().slice(0, 10)}\n`);
    // Of a month that is over, too.
    const past = await daily(product, deploy.command);
    await product.command(`muster backfill ${past.id} --from 2026-03-01 --to 2026-03-02 --wait`, {});
    const [first] = await past.untilEnded(1);
    expect(await past.output(first!)).toBe('load of 2026-03-01\n');
    await past.remove();
  },

  'the runs of past days, two at a time': async (recipe, product) => {
    const gate = product.gate();
    const job = await daily(product, gate.command);
    const opened = job.untilActive(2).then(gate.open);
    const [backfill] = await Promise.all([backfilled(recipe, product, job), opened]);
    expect(backfill).toMatchObject({ succeeded: 7, skipped: 0 });
    const runs = await job.untilEnded(7);
    expect(times(runs).toSorted((a, b) => a - b)).toEqual(march);
    expect(runs.every(({ trigger }) => trigger === 'BACKFILL')).toBe(true);
    expect(mostAtOnce(runs)).toBe(2);
    await job.remove();
  },

  'the newest day first': async (recipe, product) => {
    const job = await daily(product);
    await backfilled(recipe, product, job);
    expect(times(await job.untilEnded(7))).toEqual(march.toReversed());
    await job.remove();
  },

  'days that have run, once more': async (recipe, product) => {
    const job = await daily(product);
    await backfilled(recipe, product, job);
    expect(await backfilled(recipe, product, job)).toMatchObject({ succeeded: 7 });
    const runs = await job.untilEnded(14);
    expect(times(runs).toSorted((a, b) => a - b)).toEqual(march.flatMap((at) => [at, at]));
    await job.remove();
  },
};

import { expect } from 'vitest';
import type { RetryPolicy } from '../../src/core/model/request.js';
import { until, type Check, type RecipeProduct, type Run } from './product.js';

const minute = 60_000;

/** The same policy, with pauses that are so many times shorter. */
const faster = (policy: RetryPolicy, times: number): RetryPolicy => ({
  ...policy,
  delayMillis: policy.delayMillis! / times,
  ...(policy.maxDelayMillis !== undefined && { maxDelayMillis: policy.maxDelayMillis / times }),
});

/** Milliseconds from the end of the first try to the time for which the second one is planned. */
async function firstPauses(product: RecipeProduct, retry: RetryPolicy, runs: number): Promise<number[]> {
  const job = await (await product.job().save({ retry })).deploy('exit 1');
  for (let run = 0; run < runs; run++) await job.run({ runId: String(run) });
  const ended = await job.untilEnded(runs);
  const waiting = await until('the next tries to be planned', async () => {
    const planned = await job.waiting();
    return planned.length === runs && planned;
  });
  await job.remove();
  return ended.map(({ runId, endedAt }) => {
    const next = waiting.find((pending) => pending.runId === runId)!;
    expect(next.attempt).toBe(2);
    return next.pendingTaskId.nextRunAt - endedAt!;
  });
}

/** Milliseconds between the tries of one run, which all fail. */
async function pauses(product: RecipeProduct, retry: RetryPolicy): Promise<number[]> {
  const job = await (await product.job().save({ retry })).deploy('exit 1');
  await job.run({ runId: 'one' });
  const tries = await job.untilEnded(retry.attempts + 1);
  expect(tries.map(({ attempt }) => attempt)).toEqual(
    Array.from({ length: retry.attempts + 1 }, (_, index) => index + 1),
  );
  expect(new Set(tries.map(({ runId }) => runId))).toEqual(new Set(['one']));
  expect(await job.waiting()).toEqual([]);
  await job.remove();
  return tries.slice(1).map(({ startedAt }, index) => startedAt - tries[index]!.endedAt!);
}

/** Runs of a job that is due each second: retries of a run come before the next one. */
async function triesOf(product: RecipeProduct, request: object, command: string, tasks: number): Promise<Run[]> {
  const job = await product.job().eachSecond(request, command);
  const runs = await job.untilEnded(tasks);
  await job.remove();
  return runs.slice(0, tasks);
}
const attempts = (runs: Run[]): number[] => runs.map(({ attempt }) => attempt);

export const retryChecks: Record<string, Check> = {
  'three more tries, a minute apart': async ({ request: { retry } }, product) => {
    expect(await firstPauses(product, retry!, 1)).toEqual([minute]);
    const told = await pauses(product, faster(retry!, 200));
    expect(told).toHaveLength(3);
    for (const pause of told) expect(pause).toBeGreaterThanOrEqual(minute / 200);
  },

  'pauses that double, up to an hour': async ({ request: { retry } }, product) => {
    expect(await firstPauses(product, retry!, 1)).toEqual([minute]);
    const told = await pauses(product, faster(retry!, 1_200));
    const wanted = [1, 2, 4, 8, 16, 32, 60, 60].map((minutes) => (minutes * minute) / 1_200);
    expect(told).toHaveLength(wanted.length);
    for (const [index, pause] of told.entries()) expect(pause).toBeGreaterThanOrEqual(wanted[index]!);
  },

  'jobs that failed together are not tried together': async ({ request: { retry } }, product) => {
    const told = await firstPauses(product, retry!, 8);
    for (const pause of told) {
      expect(pause).toBeGreaterThanOrEqual(minute / 2);
      expect(pause).toBeLessThanOrEqual(minute);
    }
    expect(new Set(told).size).toBeGreaterThan(1);
  },

  'another try after exit code 75 only': async ({ request }, product) => {
    const [listed, other] = await Promise.all([
      triesOf(product, request, '[ $TASK_ATTEMPT = 2 ] || exit 75', 4),
      triesOf(product, request, 'exit 74', 2),
    ]);
    expect([attempts(listed), attempts(other)]).toEqual([
      [1, 2, 1, 2],
      [1, 1],
    ]);
  },

  'no other try after exit code 2': async ({ request }, product) => {
    const [listed, other] = await Promise.all([
      triesOf(product, request, 'exit 2', 2),
      triesOf(product, request, '[ $TASK_ATTEMPT = 2 ] || exit 1', 4),
    ]);
    expect([attempts(listed), attempts(other)]).toEqual([
      [1, 1],
      [1, 2, 1, 2],
    ]);
  },

  'what may have run is not run again': async ({ request }, product) => {
    const lost = async (members: object) => {
      const gate = product.gate();
      const job = await product.job().eachSecond(members, gate.command);
      const [first] = await job.untilActive(1);
      await product.api.post(`test/scheduler/statusUpdate/${first!.taskId}/TASK_LOST`);
      gate.open();
      const [gone, next] = await job.untilEnded(2);
      expect(gone!.state).toBe('TASK_LOST');
      await job.remove();
      return next!.scheduledAt === gone!.scheduledAt;
    };
    const again = { retry: { ...request.retry!, onLost: true } };
    expect(await Promise.all([lost(request), lost(again)])).toEqual([false, true]);
  },

  'killed after an hour': async ({ request }, product) => {
    const hour = request.taskExecutionTimeLimitMillis!;
    expect(hour).toBe(60 * minute);
    const limited = { taskExecutionTimeLimitMillis: hour / 12_000 };
    const job = await (await product.job().save(limited)).deploy('exec sleep 600');
    await job.run();
    const [run] = await job.untilEnded(1);
    expect(run!.state).toBe('TASK_KILLED');
    expect(run!.message).toContain('TASK_EXCEEDED_TIME_LIMIT');
    expect(run!.endedAt! - run!.startedAt).toBeGreaterThanOrEqual(hour / 12_000);
    await job.remove();
  },

  'killed after an hour, and not tried again': async ({ request }, product) => {
    const limited = { ...request, taskExecutionTimeLimitMillis: request.taskExecutionTimeLimitMillis! / 12_000 };
    const [once, again] = await Promise.all([
      triesOf(product, limited, 'exec sleep 600', 2),
      triesOf(product, { ...limited, retry: { ...request.retry!, onTimeLimit: true } }, 'exec sleep 600', 2),
    ]);
    expect([attempts(once), attempts(again)]).toEqual([
      [1, 1],
      [1, 2],
    ]);
    expect(new Set([...once, ...again].map(({ state }) => state))).toEqual(new Set(['TASK_KILLED']));
  },

  'paused after five failed runs in a row': async ({ request }, product) => {
    const job = await product.job().eachSecond(request, 'exit 1');
    await job.untilState('PAUSED');
    expect(await job.untilEnded(5)).toHaveLength(5);
    expect(await job.waiting()).toEqual([]);
    await job.remove();
  },

  'which run, which try, and why': async ({ deploy }, product) => {
    const command = `${deploy.command!}; exit 1`;
    const job = await product.job().eachSecond({ retry: { attempts: 1 } }, command);
    const runs = await job.untilEnded(4);
    await job.pause();
    for (const [first, second] of [runs.slice(0, 2), runs.slice(2, 4)]) {
      const id = `${job.id}-${first!.scheduledAt}`;
      expect(await job.output(first!)).toBe(`${id} 1 SCHEDULE\n`);
      expect(await job.output(second!)).toBe(`${id} 2 RETRY\n`);
    }
    await job.remove();
  },
};

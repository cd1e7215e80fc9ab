import { expect } from 'vitest';
import type { Request } from '../../src/core/model/request.js';
import {
  hasEnded,
  isActive,
  mostAtOnce,
  until,
  untilTime,
  type Check,
  type Job,
  type RecipeProduct,
} from './product.js';
import type { Recipe } from './recipe-page.js';

const second = 1_000;
const times = (runs: { scheduledAt: number }[]): number[] => runs.map(({ scheduledAt }) => scheduledAt);
/** Seconds from each planned time to the next one. */
const steps = (planned: number[]): number[] => planned.slice(1).map((at, index) => (at - planned[index]!) / second);

/**
 * A job that is due each second. Its first runs go on until the gate opens, when further times have passed; later ones end at once.
 * `planned`: the time that the leader plans next when the gate opens. Earlier ones get no run any more, or wait for their turn, the first
 * of them is `waiting`: that after the first run, or a later one where a busy leader came to plan it later.
 */
async function beyondOneTime({ request }: Recipe, product: RecipeProduct, atOnce = 1) {
  const gate = product.gate();
  const job = await product.job().eachSecond(request, gate.command);
  const before = await job.untilActive(atOnce);
  const beyond = before.at(-1)!.scheduledAt + 2 * second;
  await untilTime(beyond);
  // Where the time is skipped, nothing is planned before the end of the run.
  const isPlannedAhead = request.overlapPolicy !== undefined && request.overlapPolicy !== 'SKIP';
  const [waiting, planned] = await until('the leader to plan beyond these runs', async () => {
    if (!isPlannedAhead) return [beyond, beyond];
    const all = (await job.waiting()).map(({ pendingTaskId }) => pendingTaskId.nextRunAt);
    return Math.max(...all) > beyond && [Math.min(...all), Math.max(...all)];
  });
  expect(times((await job.runs()).filter(isActive))).toEqual(times(before));
  const openedAt = Date.now();
  gate.open();
  return { job, openedAt, waiting, planned, first: before };
}

/** Each run is still there when its next time has come, which ends it. Answers one that ended with these words. */
async function replacedRun(product: RecipeProduct, { request, deploy }: Recipe, command: string, words: string) {
  const job = await product.job().eachSecond(request, command, deploy);
  // One that is ended before its shell has read the trap ends as any shell does.
  const runs = await job.untilRuns(words, (all) => all.filter(hasEnded).some(({ message }) => message.includes(words)));
  await job.remove();
  expect(mostAtOnce(runs)).toBe(1);
  expect(new Set(times(runs)).size).toBe(runs.length);
  const ended = runs.filter(hasEnded);
  expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(['TASK_KILLED']));
  return { job, run: ended.find(({ message }) => message.includes(words))! };
}

const inGroup = async (product: RecipeProduct, members: Partial<Request>, command: string): Promise<Job> =>
  (await product.job('load').save(members)).deploy(command);

export const overlapChecks: Record<string, Check> = {
  'never two runs at once, skip the time': async (recipe, product) => {
    const { job, planned } = await beyondOneTime(recipe, product);
    const runs = await job.untilEnded(3);
    expect(mostAtOnce(runs)).toBe(1);
    expect(runs[1]!.scheduledAt).toBeGreaterThanOrEqual(planned);
    await job.remove();
  },

  'up to three runs at once': async (recipe, product) => {
    const { job, planned, first } = await beyondOneTime(recipe, product, 3);
    expect(new Set(times(first)).size).toBe(3);
    const runs = await job.untilEnded(5);
    expect(mostAtOnce(runs)).toBe(3);
    expect(runs[3]!.scheduledAt).toBeGreaterThanOrEqual(planned);
    await job.remove();
  },

  'one run waits for the end of the present one': async (recipe, product) => {
    const { job, openedAt, waiting, planned } = await beyondOneTime(recipe, product);
    const runs = await job.untilEnded(3);
    expect(mostAtOnce(runs)).toBe(1);
    expect(waiting).toBeLessThan(planned);
    expect(runs[1]!.scheduledAt).toBe(waiting);
    expect(runs[1]!.startedAt).toBeGreaterThanOrEqual(openedAt);
    expect(runs[2]!.scheduledAt).toBeGreaterThanOrEqual(planned);
    await job.remove();
  },

  'no time is lost, one run after the other': async (recipe, product) => {
    const { job, openedAt } = await beyondOneTime(recipe, product);
    const runs = await job.untilRuns('a run of a time after the gate', (all) => all.filter(hasEnded).length >= 6);
    expect(mostAtOnce(runs)).toBe(1);
    expect(runs[2]!.scheduledAt).toBeLessThan(openedAt);
    expect(new Set(steps(times(runs)))).toEqual(new Set([1]));
    await job.remove();
  },

  'a new run asks the old one to end': async (recipe, product) => {
    const command = 'trap "echo bye; exit 3" TERM; while :; do sleep 0.1; done';
    const { job, run } = await replacedRun(product, recipe, command, 'Killed gracefully, exit code 3');
    expect(await job.output(run)).toBe('bye\n');
  },

  'a new run kills the old one at once': async (recipe, product) => {
    // The usual grace would be three minutes.
    await replacedRun(product, recipe, 'trap "" TERM; while :; do sleep 0.1; done', 'Killed by force');
  },

  'the database takes two loads at once, of whatever jobs': async ({ request }, product) => {
    const group = { concurrencyGroup: { ...request.concurrencyGroup!, name: 'warehouse-of-recipes' } };
    const gate = product.gate();
    const jobs = await Promise.all([0, 1, 2].map(() => inGroup(product, group, gate.command)));
    for (const job of jobs) await job.run();
    const told = () => Promise.all(jobs.map((job) => job.runs()));
    await until('two of the three to run', async () => (await told()).flat().filter(isActive).length === 2);
    const held = jobs[(await told()).findIndex((runs) => runs.length === 0)]!;
    await until('the third to be held', async () => ((await held.explain()).heldBy ?? []).length === 2);
    expect((await told()).flat()).toHaveLength(2);
    gate.open();
    const runs = await Promise.all(jobs.map((job) => job.untilEnded(1)));
    expect(mostAtOnce(runs.flat())).toBe(2);
    expect(runs.flat().every(({ state }) => state === 'TASK_FINISHED')).toBe(true);
    await Promise.all(jobs.map((job) => job.remove()));
  },
};

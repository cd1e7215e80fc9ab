import { expect } from 'vitest';
import type { Request } from '../../src/core/model/request.js';
import { until, type Check, type Job, type RecipeProduct, type Run } from './product.js';

interface Flow {
  id: string;
  runs: { requestId: string; state: string }[];
}

/** The recipe's members, with jobs of the product in the place of the ids that the page names. */
const follow = (request: Partial<Request>, jobs: Record<string, Job>): Partial<Request> => ({
  ...request,
  after: request.after!.map(({ requestId, on }) => ({ requestId: jobs[requestId]!.id, on })),
});

const onDemand = async (product: RecipeProduct, command: string, members: Partial<Request> = {}, name = 'load') =>
  (await product.job(name).save(members)).deploy(command);

const flowOf = (product: RecipeProduct, { flowId }: Run) => product.api.get<Flow>(`flows/${flowId}`);

/** The job's only run follows these runs. */
async function expectFollows(job: Job, ...parents: Run[]): Promise<Run> {
  const [run, ...more] = await job.untilEnded(1);
  expect(more).toEqual([]);
  expect(run!.trigger).toBe('AFTER');
  expect(run!.parentRuns?.toSorted()).toEqual(parents.map(({ taskId }) => taskId).toSorted());
  for (const parent of parents) expect(run!.startedAt).toBeGreaterThanOrEqual(parent.endedAt!);
  return run!;
}

/** A job, two that follow it side by side, and one that the recipe lets follow these; `loads` go on until the gates are opened. */
async function twoLoads(product: RecipeProduct, request: Partial<Request>) {
  const first = await onDemand(product, 'true', {}, 'first');
  const after: Request['after'] = [{ requestId: first.id, on: 'SUCCESS' }];
  const gates = [product.gate(), product.gate()];
  const [orders, prices] = await Promise.all(gates.map(({ command }) => onDemand(product, command, { after })));
  const members = follow(request, { 'load-orders': orders!, 'load-prices': prices! });
  const follower = await onDemand(product, 'true', members, 'report');
  await first.run();
  await Promise.all([orders!.untilActive(1), prices!.untilActive(1)]);
  return {
    first,
    loads: [orders!, prices!] as const,
    gates: gates as [(typeof gates)[0], (typeof gates)[0]],
    follower,
  };
}

/** A parent that ends in this way, and the follower of the recipe, beside one that follows every end. */
async function oneParent(
  product: RecipeProduct,
  request: Partial<Request>,
  command: string,
  parent: Partial<Request> = {},
) {
  const load = await onDemand(product, command, parent);
  const [follower, witness] = await Promise.all([
    onDemand(product, 'true', follow(request, { load }), 'follower'),
    onDemand(product, 'true', { after: [{ requestId: load.id, on: 'END' }] }, 'witness'),
  ]);
  await load.run();
  // The runs of all followers are made together.
  await witness.untilEnded(1);
  const runs = await load.runs();
  return { follower, last: runs.at(-1)!, runs };
}

export const flowChecks: Record<string, Check> = {
  'after another job, if it succeeded': async ({ request }, product) => {
    const [good, bad] = await Promise.all([oneParent(product, request, 'true'), oneParent(product, request, 'exit 1')]);
    await expectFollows(good.follower, good.last);
    expect((await flowOf(product, bad.last)).runs.map(({ requestId }) => requestId)).not.toContain(bad.follower.id);
    expect(await bad.follower.runs()).toEqual([]);
  },

  'after all of several jobs': async ({ request }, product) => {
    const { loads, gates, follower, first } = await twoLoads(product, request);
    const [begin] = await first.untilEnded(1);
    gates[0].open();
    const [orders] = await loads[0].untilEnded(1);
    expect((await flowOf(product, begin!)).runs.map(({ requestId }) => requestId)).not.toContain(follower.id);
    gates[1].open();
    const [prices] = await loads[1].untilEnded(1);
    const report = await expectFollows(follower, orders!, prices!);
    expect(new Set([begin, orders, prices, report].map((run) => run!.flowId)).size).toBe(1);
  },

  'after each of several jobs': async ({ request }, product) => {
    const { loads, gates, follower } = await twoLoads(product, request);
    gates[0].open();
    const [orders] = await loads[0].untilEnded(1);
    await expectFollows(follower, orders!);
    gates[1].open();
    const [prices] = await loads[1].untilEnded(1);
    const runs = await follower.untilEnded(2);
    expect(runs.map(({ parentRuns }) => parentRuns)).toEqual([[orders!.taskId], [prices!.taskId]]);
  },

  'an alarm if a job failed or took too long, after its last try': async ({ request }, product) => {
    const [bad, slow, good] = await Promise.all([
      oneParent(product, request, 'exit 1', { retry: { attempts: 2 } }),
      oneParent(product, request, 'exec sleep 600', { taskExecutionTimeLimitMillis: 300 }),
      oneParent(product, request, '[ $TASK_ATTEMPT = 2 ]', { retry: { attempts: 2 } }),
    ]);
    expect(bad.runs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await expectFollows(bad.follower, bad.last);
    expect(slow.last.state).toBe('TASK_KILLED');
    await expectFollows(slow.follower, slow.last);
    expect(good.last).toMatchObject({ attempt: 2, state: 'TASK_FINISHED' });
    expect(await good.follower.runs()).toEqual([]);
  },

  'clean up, whatever the end': async ({ request }, product) => {
    for (const { follower, last } of await Promise.all([
      oneParent(product, request, 'true'),
      oneParent(product, request, 'exit 1'),
    ]))
      await expectFollows(follower, last);
  },

  'the arguments of the parent': async ({ request }, product) => {
    const load = await onDemand(product, 'true');
    const echo = { shell: true, resources: { cpus: 0.02, memoryMb: 16 } };
    const follower = await (
      await product.job('report').save(follow(request, { load }))
    ).deploy('echo "$1 and $2"', echo);
    await load.run({ commandLineArgs: ['Monday', 'Tuesday'] });
    const [run] = await follower.untilEnded(1);
    expect(await follower.output(run!)).toBe('Monday and Tuesday\n');
  },

  'a result for the next job': async ({ deploy }, product) => {
    const load = await onDemand(product, deploy.command!);
    const report = await onDemand(product, 'echo "$TASK_PARENT_ROWS rows"', {
      after: [{ requestId: load.id, on: 'SUCCESS' }],
    });
    await load.run();
    const [run] = await report.untilEnded(1);
    expect(await report.output(run!)).toBe('42 rows\n');
  },

  'again from the job that failed': async ({ command }, product) => {
    // Fails until somebody mends what it needs.
    const mended = product.gate();
    const first = await onDemand(product, 'true', {}, 'first');
    const prices = await onDemand(product, mended.command.replace(/until (.*); do .*/, '$1'), {
      after: [{ requestId: first.id, on: 'SUCCESS' }],
    });
    const report = await onDemand(product, 'true', { after: [{ requestId: prices.id, on: 'SUCCESS' }] });
    await first.run();
    const [failed] = await prices.untilEnded(1);
    expect(failed!.state).toBe('TASK_FAILED');
    const flowId = failed!.flowId!;
    await until('the flow to be told', async () => (await flowOf(product, failed!)).runs.length === 2);
    mended.open();
    await product.command(command!.replace('<flow id>', flowId), { 'load-prices': prices.id });
    const [, again] = await prices.untilEnded(2);
    expect(again).toMatchObject({ state: 'TASK_FINISHED', flowId });
    expect(await expectFollows(report, again!)).toMatchObject({ flowId });
    expect(await first.runs()).toHaveLength(1);
  },

  'one job alone, without its followers': async ({ body }, product) => {
    const load = await onDemand(product, 'true');
    const report = await onDemand(product, 'true', { after: [{ requestId: load.id, on: 'END' }] });
    await load.run(body);
    await load.untilEnded(1);
    await load.run();
    const runs = await load.untilEnded(2);
    await expectFollows(report, runs[1]!);
  },
};

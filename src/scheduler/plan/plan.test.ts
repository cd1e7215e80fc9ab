import { afterEach, describe, expect, test } from 'vitest';
import type { Deploy } from '../../core/model/deploy.js';
import type { Request, ScaleRequest } from '../../core/model/request.js';
import { DeploysPoller } from '../../modules/deploys/deploys.poller.js';
import { DeploysService, type StartDeploy } from '../../modules/deploys/deploys.service.js';
import { Pauses } from '../../modules/requests/actions/pauses.service.js';
import { Scaling } from '../../modules/requests/actions/scaling.service.js';
import { RequestsService } from '../../modules/requests/requests.service.js';
import { CleanupModule } from '../../modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../modules/tasks/cleanup/cleanup.poller.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { builtInUser } from '../../core/authorization/access-rules.js';
import { ExplainService } from '../explain/explain.service.js';
import { DeployPlans } from './deploy-plans.service.js';
import type { PlanDto } from './dto/plan.dto.js';
import { PlanModule } from './plan.module.js';
import { ScalePlans } from './scale-plans.service.js';

const caller = { ...builtInUser, id: 'ann' };

/** Tasks that start together, and those that end before the next start. */
interface Step {
  start: number[];
  stop: string[];
}

let world: SchedulerWorld;
afterEach(() => world.close());

const begin = async (machines = 4) => {
  world = await SchedulerWorld.start({ machines, modules: [PlanModule, CleanupModule] });
};
const save = (request: Partial<Request> = {}) =>
  world.get(RequestsService).saveRequest({ id: 'web', requestType: 'SERVICE', instances: 3, ...request }, caller);
const resources = { cpus: 1, memoryMb: 64 };
const wish = (id: string, changes: Partial<Deploy> = {}, options: Partial<StartDeploy> = {}): StartDeploy => ({
  deploy: { id, requestId: 'web', command: 'serve', resources, objstoreUploaderAdditionalFiles: [], ...changes },
  unpauseOnSuccessfulDeploy: false,
  largeScaleDownAcknowledged: true,
  ...options,
});
const deploy = (start: StartDeploy) => world.get(DeploysService).start(start, caller);
const planDeploy = (start: StartDeploy) => world.get(DeployPlans).plan(start);
const planScale = (scale: ScaleRequest) => world.get(ScalePlans).plan('web', scale, true);

/** Watches what every pass adds. */
class Watch {
  readonly steps: Step[] = [];
  private readonly seen = new Set<string>();

  async begin(): Promise<void> {
    for (const { taskId } of await world.active('web')) this.seen.add(taskId.id);
  }

  async look(): Promise<void> {
    const started = (await world.active('web')).filter(({ taskId }) => !this.seen.has(taskId.id));
    for (const { taskId } of started) this.seen.add(taskId.id);
    if (started.length > 0) this.steps.push({ start: started.map(({ taskId }) => taskId.instanceNo), stop: [] });
    const cleanups = await world.query<{ task_id: string }>('SELECT task_id FROM task_cleanup ORDER BY task_id');
    for (const { task_id: id } of cleanups) {
      if (this.seen.has(`cleaned ${id}`)) continue;
      this.seen.add(`cleaned ${id}`);
      if (this.steps.length === 0) this.steps.push({ start: [], stop: [] });
      this.steps.at(-1)!.stop.push(id);
    }
  }
}

/** Lets virtual seconds pass; every poller looks four times in each, and so does `watch`. */
async function run(seconds: number, watch?: Watch): Promise<void> {
  for (let quarter = 0; quarter < seconds * 4; quarter++) {
    await world.pass();
    await world.get(DeploysPoller).runOnce(world.now);
    await watch?.look();
    await world.get(CleanupPoller).runOnce(world.now);
    await watch?.look();
    await world.pass();
    await watch?.look();
    await world.cluster.advance(250);
  }
}

const inOrder = ({ start, stop }: Step): Step => ({ start: start.toSorted((a, b) => a - b), stop: stop.toSorted() });
const planned = ({ steps }: PlanDto): Step[] =>
  steps.map(({ start, stop }) =>
    inOrder({ start: start.map(({ instanceNo }) => instanceNo), stop: stop.map(({ taskId }) => taskId.id) }),
  );

/** Real steps of `action`. */
async function happened(action: () => Promise<unknown>, seconds: number): Promise<Step[]> {
  const watch = new Watch();
  await watch.begin();
  await action();
  await run(seconds, watch);
  return watch.steps.map(inOrder);
}

/** Healthy instances of v1. */
async function serving(request: Partial<Request> = {}, machines?: number): Promise<void> {
  await begin(machines);
  await save(request);
  await deploy(wish('v1'));
  await run(8);
}

describe('what is planned is what happens', () => {
  test.each<{
    name: string;
    request?: Partial<Request>;
    changes?: Partial<Deploy>;
    options?: Partial<StartDeploy>;
    steps: number;
    seconds: number;
  }>([
    { name: 'all at once', steps: 1, seconds: 10 },
    { name: 'one by one', changes: { deployInstanceCountPerStep: 1 }, steps: 3, seconds: 26 },
    {
      name: 'two of five at a time',
      request: { instances: 5 },
      changes: { deployInstanceCountPerStep: 2 },
      steps: 3,
      seconds: 26,
    },
    {
      name: 'waiting between steps',
      changes: { deployInstanceCountPerStep: 2, deployStepWaitTimeMs: 2_000 },
      steps: 2,
      seconds: 22,
    },
    { name: 'apart from each other', request: { slavePlacement: 'SEPARATE_BY_DEPLOY' }, steps: 1, seconds: 10 },
    {
      name: 'with more instances',
      options: { updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 5 } },
      steps: 1,
      seconds: 10,
    },
    {
      name: 'with fewer instances',
      options: { updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 2 } },
      steps: 1,
      seconds: 10,
    },
    {
      name: 'with more instances, step by step',
      changes: { deployInstanceCountPerStep: 2 },
      options: { updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 5 } },
      steps: 3,
      seconds: 26,
    },
    {
      name: 'with fewer instances, step by step',
      changes: { deployInstanceCountPerStep: 1 },
      options: { updatedRequest: { id: 'web', requestType: 'SERVICE', instances: 2 } },
      steps: 2,
      seconds: 22,
    },
    {
      name: 'in groups that grow',
      request: { instances: 6 },
      changes: {
        canaryDeploySettings: {
          enableCanaryDeploy: true,
          instanceGroupSize: 1,
          acceptanceMode: 'TIMED',
          waitMillisBetweenGroups: 2_000,
          allowedTasksFailuresPerGroup: 0,
          canaryCycleCount: 3,
        },
      },
      steps: 4,
      seconds: 40,
    },
  ])('of a deploy, $name', async ({ request, changes, options, steps, seconds }) => {
    await serving(request);
    const plan = await planDeploy(wish('v2', changes, options));
    expect(plan).toMatchObject({ fits: true, activeDeployId: 'v1', deployId: 'v2' });
    expect(plan.steps).toHaveLength(steps);
    const real = await happened(() => deploy(wish('v2', changes, options)), seconds);
    expect(real).toEqual(planned(plan));
    expect(real.flatMap(({ start }) => start)).toHaveLength(plan.starting);
    expect(real.flatMap(({ stop }) => stop)).toHaveLength(plan.stopping);
  });

  test('of the first deploy', async () => {
    await begin();
    await save();
    const plan = await planDeploy(wish('v1'));
    expect(plan.changes).toContainEqual({ path: 'deploy.command', to: 'serve' });
    expect(await happened(() => deploy(wish('v1')), 8)).toEqual(planned(plan));
  });

  test('of a deploy whose steps wait for a word', async () => {
    await serving();
    const start = wish('v2', { deployInstanceCountPerStep: 2, autoAdvanceDeploySteps: false });
    const plan = await planDeploy(start);
    expect(plan.steps.map(({ waitsForUpdate }) => waitsForUpdate)).toEqual([true, undefined]);
    const watch = new Watch();
    await watch.begin();
    await deploy(start);
    await run(10, watch);
    expect(watch.steps.map(inOrder)).toEqual(planned(plan).slice(0, 1));
    await world.get(DeploysService).update({ requestId: 'web', deployId: 'v2' }, 3);
    await run(10, watch);
    expect(watch.steps.map(inOrder)).toEqual(planned(plan));
  });

  test('of a deploy that unpauses its request', async () => {
    await serving();
    await world.get(Pauses).pause('web', {}, caller);
    await run(2);
    const start = wish('v2', {}, { unpauseOnSuccessfulDeploy: true });
    const plan = await planDeploy(start);
    expect(planned(plan)).toEqual([{ start: [1, 2, 3], stop: [] }]);
    expect(await happened(() => deploy(start), 8)).toEqual(planned(plan));
  });

  test.each<{ requestType: Request['requestType']; changes?: Partial<Deploy>; starts: number }>([
    { requestType: 'RUN_ONCE', starts: 1 },
    { requestType: 'ON_DEMAND', starts: 0 },
    { requestType: 'ON_DEMAND', changes: { runImmediately: { runId: 'first' } }, starts: 1 },
  ])('of a deploy of $requestType ($changes)', async ({ requestType, changes, starts }) => {
    await begin();
    await save({ requestType, instances: undefined });
    const plan = await planDeploy(wish('v1', changes));
    expect(plan).toMatchObject({ starting: starts, fits: true });
    expect(await happened(() => deploy(wish('v1', changes)), 3)).toEqual(planned(plan));
  });

  test('of a run that is scheduled: it waits for its time', async () => {
    await begin();
    await save({ requestType: 'SCHEDULED', schedule: '0 0 1 1 *', instances: undefined });
    const { steps } = await planDeploy(wish('v1'));
    await deploy(wish('v1'));
    await run(2);
    const [pending] = await world.query<{ instance_no: number; next_run_at: Date }>('SELECT * FROM pending_task');
    const { instance_no: instanceNo, next_run_at: due } = pending!;
    expect(steps).toMatchObject([{ start: [{ instanceNo, notBefore: due.getTime() }], stop: [] }]);
  });

  test.each<{ name: string; scale: ScaleRequest; seconds: number }>([
    { name: 'up', scale: { instances: 5 }, seconds: 3 },
    { name: 'down', scale: { instances: 1 }, seconds: 3 },
    { name: 'up with a bounce', scale: { instances: 4, bounce: true }, seconds: 10 },
    {
      name: 'down with a bounce of all at once',
      scale: { instances: 2, bounce: true, incremental: false },
      seconds: 10,
    },
  ])('of a scale $name', async ({ scale, seconds }) => {
    await serving();
    const plan = await planScale(scale);
    expect(plan).toMatchObject({ from: 3, to: scale.instances, fits: true });
    expect(plan.changes).toEqual([{ path: 'request.instances', from: 3, to: scale.instances }]);
    const real = await happened(() => world.get(Scaling).scale('web', scale, true, caller), seconds);
    // What goes at once is seen before anything starts.
    const together = { start: real.flatMap(({ start }) => start), stop: real.flatMap(({ stop }) => stop) };
    expect([inOrder(together)]).toEqual(planned(plan));
    const reasons = await world.query<{ text: string }>(
      `SELECT split_part(message, ' ', 1) AS text FROM task_update WHERE state = 'TASK_CLEANING'
       UNION ALL SELECT split_part(u ->> 'statusMessage', ' ', 1) FROM task_history,
         jsonb_array_elements(data -> 'taskUpdates') u WHERE u ->> 'taskState' = 'TASK_CLEANING'`,
    );
    const types = plan.steps.flatMap(({ stop }) => stop.map(({ cleanupType }) => String(cleanupType)));
    expect(reasons.map(({ text }) => text.replace(/\W.*/, '')).sort()).toEqual(types.sort());
  });
});

describe('room', () => {
  /** One machine of 16 cores, on which two tasks of v1 take ten. */
  const crowded = async () => {
    await begin(1);
    await save({ instances: 2 });
    await deploy(wish('v1', large));
    await run(8);
  };
  const large = { resources: { cpus: 5, memoryMb: 64 } };

  test('a deploy that does not fit is told so, with the reasons that its waiting task then has', async () => {
    await crowded();
    const plan = await planDeploy(wish('v2', large));
    const reason = {
      reason: 'NO_MATCHING_SLAVE',
      slaves: 1,
      rejections: [expect.objectContaining({ reason: 'NOT_ENOUGH_CPUS', slaves: 1 })],
    };
    expect(plan).toMatchObject({ fits: false, steps: [{ fits: { tasks: 2, fitting: 1, ...reason } }] });
    expect(plan.steps[0]!.fits.message).toMatch(
      /^1 of 2 tasks fit now\. No slave of 1 can take it: 1 too small in cpus \(the task asks for .* cores; it has .*, .* free\)$/,
    );
    expect(await happened(() => deploy(wish('v2', large)), 2)).toEqual([{ start: [1], stop: [] }]);
    const { pendingTasks } = await world.get(ExplainService).request('web', builtInUser);
    expect(pendingTasks).toMatchObject([reason]);
  });

  test('the same deploy one by one fits, and so it happens', async () => {
    await crowded();
    const changes = { ...large, deployInstanceCountPerStep: 1 };
    const plan = await planDeploy(wish('v2', changes));
    expect(plan.steps.map(({ fits }) => fits.message)).toEqual(['1 of 1 tasks fit now', '1 of 1 tasks fit now']);
    expect(await happened(() => deploy(wish('v2', changes)), 20)).toEqual(planned(plan));
  });

  test('a scale that does not fit is told so', async () => {
    await crowded();
    expect(await planScale({ instances: 4 })).toMatchObject({
      fits: false,
      steps: [{ start: [{ instanceNo: 3 }, { instanceNo: 4 }], fits: { tasks: 2, fitting: 1 } }],
    });
  });
});

test('a deploy as a user that no task may be is refused by the plan as by the deploy', async () => {
  await begin();
  Object.assign(world.driver, { refusedUser: () => Promise.resolve('tasks must not run as root') });
  await save();
  const refused = { code: 'INVALID_DEPLOY', errors: [{ field: 'deploy.user', rule: 'user' }] };
  await expect(planDeploy(wish('v1', { user: 'root' }))).rejects.toMatchObject(refused);
  await expect(deploy(wish('v1', { user: 'root' }))).rejects.toMatchObject(refused);
});

test('a plan writes nothing, not even a version or a note for the leader', async () => {
  await serving();
  const before = await everything();
  await planDeploy(wish('v2', { deployInstanceCountPerStep: 1 }));
  await planScale({ instances: 5 });
  await planScale({ instances: 1, bounce: true, durationMillis: 60_000 });
  await expect(planDeploy(wish('v1'))).rejects.toThrow(/used before/);
  expect(await everything()).toEqual(before);
});

/** All rows of all tables, and all sequences. */
async function everything(): Promise<unknown> {
  const tables = await world.query<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY name`,
  );
  const contents: Record<string, unknown> = {
    sequences: await world.query('SELECT sequencename, last_value FROM pg_sequences ORDER BY sequencename'),
  };
  for (const { name } of tables) {
    contents[name] = await world.query(`SELECT to_jsonb(t)::text AS row FROM ${name} t ORDER BY 1`);
  }
  return contents;
}

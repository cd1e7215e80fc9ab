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
import { TaskCleanups } from '../../modules/tasks/task-cleanups.service.js';
import { SchedulerWorld } from '../../../test/support/scheduler-world.js';
import { DeployPlans } from './deploy-plans.service.js';
import type { PlanDto } from './dto/plan.dto.js';
import { PlanModule } from './plan.module.js';
import { ScalePlans } from './scale-plans.service.js';

const caller = { id: 'ann' };

/** What starts together, and what goes before the next start. */
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

/** What really happened in the steps of `action`. */
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
  test.each<{ name: string; request?: Partial<Request>; changes?: Partial<Deploy>; steps: number; seconds: number }>([
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
  ])('of a deploy, $name', async ({ request, changes, steps, seconds }) => {
    await serving(request);
    const plan = await planDeploy(wish('v2', changes));
    expect(plan).toMatchObject({ fits: true, activeDeployId: 'v1', deployId: 'v2' });
    expect(plan.steps).toHaveLength(steps);
    expect(await happened(() => deploy(wish('v2', changes)), seconds)).toEqual(planned(plan));
  });
});

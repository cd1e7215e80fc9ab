import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Api } from './support/api.js';
import { pidsOfTask } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

const programOfTests = (name: string): string => fileURLToPath(new URL(`../support/programs/${name}`, import.meta.url));
const program = programOfTests('muster-on-modules.mjs');
const preload = programOfTests('crash-point.mjs');
const resources = { cpus: 0.05, memoryMb: 16 };

interface Story {
  begin: (api: Api) => Promise<unknown>;
  /** Running tasks in the end: their deploy, and their number. */
  leaves: { deployId: string; instances: number };
}

let version = 1;
const nextDeploy = (changes: Partial<Deploy> = {}): Deploy => ({
  requestId: 'worker',
  id: `v${++version}`,
  command: 'exec sleep 1000',
  resources,
  considerHealthyAfterRunningForSeconds: 0,
  ...changes,
});

const deploy: Story = {
  begin: (api) => api.deploy(nextDeploy()),
  get leaves() {
    return { deployId: `v${version}`, instances: 2 };
  },
};
const bounce: Story = {
  ...deploy,
  begin: (api) => api.post('requests/request/worker/bounce', {}),
  get leaves() {
    return { deployId: `v${version}`, instances: 2 };
  },
};
/** From two instances to none, and back once all is clean. */
const cleanup: Story = {
  begin: (api) => api.post('requests/request/worker/pause', { killTasks: true }),
  get leaves() {
    return { deployId: `v${version}`, instances: 0 };
  },
};

const cuts: { point: string; of: Story; what: string }[] = [
  { what: 'a deploy', point: 'after the commit of PlacementService.launch', of: deploy },
  { what: 'a deploy', point: 'after launch', of: deploy },
  { what: 'a deploy', point: 'before the commit of DeploysPoller.step', of: deploy },
  { what: 'a bounce', point: 'before the commit of CleanupPoller.clean', of: bounce },
  { what: 'a bounce', point: 'after the commit of CleanupPoller.clean', of: bounce },
  { what: 'a bounce', point: 'before launch', of: bounce },
  { what: 'a pause that kills', point: 'after the commit of CleanupPoller.clean', of: cleanup },
  { what: 'a pause that kills', point: 'before kill', of: cleanup },
  { what: 'a pause that kills', point: 'after kill', of: cleanup },
];

/** With API workers the order comes from another process than the one that is killed, and that ends with it. */
const cutsWithWorkers = cuts.filter(({ point }) => point === 'after launch' || point === 'before kill');

/** Real processes: the scheduler is killed by SIGKILL at a named point, and the next one ends what it began. */
describe.each([
  { what: 'the scheduler', workers: '0', points: cuts },
  { what: 'a scheduler with API workers', workers: '1', points: cutsWithWorkers },
])('$what is killed', ({ workers, points }) => {
  const installation = new Installation({
    database: createDatabase,
    program,
    env: { MUSTER_HTTP_WORKERS: workers },
  });
  let muster: Instance;
  const start = (point: string): Promise<Instance> =>
    installation.start(['start'], { NODE_OPTIONS: `--import ${preload}`, CRASH_POINT: point });

  beforeAll(async () => {
    version = 1;
    muster = await start(points[0]!.point);
    const { api } = muster;
    await api.saveRequest({ id: 'worker', requestType: 'WORKER', instances: 2 });
    await api.deploy(nextDeploy());
    await api.deployEnded('worker', `v${version}`);
    await api.running('worker', 2);
  }, 120_000);
  afterAll(() => installation.dispose(), 90_000);

  test.each(points.map((cut, index) => ({ ...cut, next: points[index + 1]?.point ?? 'nowhere' })))(
    'in $what, $point',
    async ({ of: story, next }) => {
      const before = await muster.api.activeTasks('worker');
      muster.signal('SIGUSR2');
      // It may die before it has answered.
      await story.begin(muster.api).catch((cause: unknown) => expect(String(cause)).toMatch(/fetch failed|terminated/));
      await muster.exited(30_000);
      muster = await start(next);
      const { api } = muster;
      const { deployId, instances } = story.leaves;
      await waitFor('the end of what was begun', async () => {
        const parent = await api.request('worker');
        return !parent.requestDeployState?.pendingDeploy && !parent.expiringBounce;
      });
      const after = await api.running('worker', instances);
      expect(after.map(({ taskId }) => taskId.deployId)).toEqual(Array.from({ length: instances }, () => deployId));
      expect(after.map(({ taskId }) => taskId.instanceNo).toSorted()).toEqual([1, 2].slice(0, instances));
      // Nothing is doubled, and nothing of what was there before is left.
      for (const { taskId } of before) {
        await waitFor(`the end of ${taskId.id}`, () => pidsOfTask(taskId.id).length === 0);
      }
      const ended = await api.endedTasks('worker');
      expect(before.filter(({ taskId }) => !ended.some((task) => task.taskId.id === taskId.id))).toEqual([]);
      if (instances === 0) {
        await api.post('requests/request/worker/unpause');
        await api.running('worker', 2);
      }
    },
    120_000,
  );
});

/** Where the end of a run is stored, and where the run that follows goes into its queue. */
const flowPoints = ['attempt', 'FlowReleases.releaseTogether'].flatMap((place) =>
  ['before', 'after'].map((when) => `${when} the commit of ${place}`),
);

describe('the scheduler is killed while jobs follow each other', () => {
  const installation = new Installation({ database: createDatabase, program });
  let muster: Instance;
  const start = (point: string): Promise<Instance> =>
    installation.start(['start'], { NODE_OPTIONS: `--import ${preload}`, CRASH_POINT: point });
  const jobs = ['first', 'second', 'third'];

  beforeAll(async () => {
    muster = await start(flowPoints[0]!);
    for (const [index, id] of jobs.entries()) {
      const after = index === 0 ? {} : { after: [{ requestId: jobs[index - 1]!, on: 'SUCCESS' as const }] };
      await muster.api.saveRequest({ id, requestType: 'ON_DEMAND', ...after });
      await muster.api.deploy(nextDeploy({ requestId: id, id: 'v1', command: index === 0 ? 'exec sleep 3' : 'true' }));
      await muster.api.deployEnded(id, 'v1');
    }
  }, 120_000);
  afterAll(() => installation.dispose(), 90_000);

  test.each(flowPoints.map((point, index) => ({ point, runs: index + 1, next: flowPoints[index + 1] ?? 'nowhere' })))(
    '$point: each runs once',
    async ({ runs, next }) => {
      await muster.api.post('requests/request/first/run', {});
      await muster.api.running('first', 1);
      muster.signal('SIGUSR2');
      await muster.exited(30_000);
      muster = await start(next);
      const { api } = muster;
      await waitFor('the last one to have run', async () => (await api.endedTasks('third')).length >= runs);
      for (const id of jobs) expect(await api.endedTasks(id), id).toHaveLength(runs);
      expect(await api.activeTasks('second')).toEqual([]);
    },
    120_000,
  );
});

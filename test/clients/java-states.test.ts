import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { startBalancer, type BalancerServer } from '../support/load-balancer/balancer-server.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { compileJava } from './java-classes.js';

/* Records of the Java client 1.5.0 read what is answered in every state on the way of requests, deploys and tasks. */

let server: BalancerServer;
let installation: Installation;
let api: Api;
beforeAll(async () => {
  server = await startBalancer();
  const settings = { compatibility: '1.5', loadBalancerUri: server.uri, checkNewTasksEverySeconds: 1 };
  installation = new Installation({ database: createDatabase, settings });
  ({ api } = await installation.start());
}, 120_000);
afterAll(async () => {
  await installation.dispose();
  await server.close();
}, 60_000);

const patience = { timeoutMillis: 60_000 };
const until = <T>(what: string, holds: () => Promise<T>) => waitFor(what, holds, patience);

/** By state: what is read, as a line for Reader.java. */
const documents: { where: string; line: string }[] = [];
async function read(state: string, id: string, more: [path: string, record: string][] = []): Promise<void> {
  const lists: [path: string, record: string][] = [
    [`requests/request/${id}`, 'SingularityRequestParent'],
    [`requests/request/${id}/simple`, 'SingularityRequestWithState'],
    ['requests?includeFullRequestData=true', 'SingularityRequestParent[]'],
    ['requests/queued/pending', 'SingularityPendingRequest[]'],
    ['requests/queued/cleanup', 'SingularityRequestCleanup[]'],
    ['deploys/pending', 'SingularityPendingDeploy[]'],
    ['tasks/active', 'SingularityTask[]'],
    ['tasks/cleaning', 'SingularityTaskCleanup[]'],
    ['tasks/scheduled', 'SingularityTaskRequest[]'],
    [`tasks/ids/request/${id}`, 'SingularityTaskIdsByStatus'],
    [`history/request/${id}/deploys`, 'SingularityDeployHistory[]'],
    [`history/request/${id}/requests`, 'SingularityRequestHistory[]'],
    [`history/request/${id}/tasks`, 'SingularityTaskIdHistory[]'],
    ['state', 'SingularityState'],
    ...more,
  ];
  const found = await Promise.all(
    lists.map(async ([path, record]) => {
      const document = await api.get<unknown>(path);
      return { where: `${state}: ${path}`, line: `${record}\t${JSON.stringify(document)}` };
    }),
  );
  documents.push(...found);
}

const resources = { cpus: 0.1, memoryMb: 16, numPorts: 1 };
const request = (members: Partial<Request> & { id: string }) =>
  api.saveRequest({ requestType: 'SERVICE', ...members } as Request);
const deploy = (requestId: string, members: Partial<Deploy> = {}) =>
  api.deploy({
    requestId,
    id: 'd1',
    command: 'exec sleep 600',
    resources,
    considerHealthyAfterRunningForSeconds: 0,
    ...members,
  } as Deploy);
const progressOf = async (id: string) => (await api.request(id)).pendingDeployState;

/** A service with one task, which takes its time to end when its deploy says so. */
async function serving(id: string, members: Partial<Request> = {}, of: Partial<Deploy> = {}): Promise<string> {
  await request({ id, ...members });
  await deploy(id, of);
  await api.deployEnded(id, 'd1', patience.timeoutMillis);
  return (await api.running(id, 1, patience.timeoutMillis))[0]!.taskId.id;
}
const stubborn = { command: `trap '' TERM; while true; do sleep 0.2; done` };

const states: Record<string, () => Promise<void>> = {
  async 'a load balancer that lets wait, a deploy that is canceled meanwhile'() {
    server.balancer.script = () => 'WAITING';
    const id = 'balanced';
    await request({ id, instances: 2, loadBalanced: true });
    const balanced = { serviceBasePath: '/b', loadBalancerGroups: ['g'] };
    const canarySettings = { enableCanaryDeploy: true, instanceGroupSize: 1 };
    await deploy(id, { ...balanced, canaryDeploySettings: canarySettings } as Partial<Deploy>);
    await until('the load balancer to be asked', async () => (await progressOf(id))?.deployProgress?.pendingLbUpdate);
    await read('waiting for the load balancer', id, [[`history/request/${id}/deploy/d1`, 'SingularityDeployHistory']]);
    await api.call('DELETE', `deploys/deploy/d1/request/${id}`);
    await read('canceling', id);
    for (const { loadBalancerRequestId } of server.balancer.received)
      await server.balancer.settle(loadBalancerRequestId, 'CANCELED');
    await api.deployEnded(id, 'd1', patience.timeoutMillis);
    await read('canceled', id, [[`history/request/${id}/deploy/d1`, 'SingularityDeployHistory']]);
    server.balancer.script = () => undefined;
  },
  async 'a canary between two groups'() {
    const canaryDeploySettings = {
      enableCanaryDeploy: true,
      instanceGroupSize: 1,
      acceptanceMode: 'TIMED',
      waitMillisBetweenGroups: 600_000,
    };
    await request({ id: 'canary', instances: 2 });
    await deploy('canary', { canaryDeploySettings } as Partial<Deploy>);
    await until(
      'the first group',
      async () => (await progressOf('canary'))?.deployProgress?.currentActiveInstances === 1,
    );
    await read('between groups', 'canary');
  },
  async 'a task that is cleaned up'() {
    const taskId = await serving('cleaned', {}, stubborn);
    await api.call('DELETE', `tasks/task/${taskId}`, { message: 'go', waitForReplacementTask: false });
    await read('cleaning', 'cleaned', [
      [`history/task/${taskId}`, 'SingularityTaskHistory'],
      [`tasks/task/${taskId}/cleanup`, 'SingularityTaskCleanup'],
    ]);
  },
  async 'a bounce, a pause and an end that lapse'() {
    await serving('bounced', { instances: 1 }, stubborn);
    await api.post('requests/request/bounced/bounce', { incremental: true, durationMillis: 600_000 });
    await read('bouncing', 'bounced');
    await api.call('PUT', 'requests/request/bounced/scale', { instances: 2, durationMillis: 600_000 });
    await api.post('requests/request/bounced/pause', { durationMillis: 600_000, killTasks: false });
    await read('pausing', 'bounced');
    await api.call('DELETE', 'requests/request/bounced', { deleteFromLoadBalancer: true });
    const rest: [string, string][] = [['requests/queued/cleanup', 'SingularityRequestCleanup[]']];
    for (const [path, record] of rest)
      documents.push({ where: `removed: ${path}`, line: `${record}\t${JSON.stringify(await api.get(path))}` });
  },
  async 'what waits: for its time, for room, in cooldown'() {
    await request({ id: 'cron', requestType: 'SCHEDULED', schedule: '0 0 1 1 *' });
    await deploy('cron');
    await until('the planned run', async () => (await api.get<unknown[]>('tasks/scheduled')).length > 0);
    await read('planned', 'cron');
    await request({ id: 'large' });
    await deploy('large', { resources: { cpus: 40, memoryMb: 16 } });
    await read('without room', 'large');
    await request({ id: 'job', requestType: 'ON_DEMAND' });
    await deploy('job');
    await api.post('requests/request/job/run', { runId: 'later', runAt: Date.now() + 3_600_000 });
    await read('a run that is asked for', 'job');
  },
};

const work = tempFolder();
const compiled = await compileJava('1.5.0', 'java-records', work.path);
if ('why' in compiled) console.log(`Tests of the records of the Java client are left out: ${compiled.why}`);
afterAll(() => work.remove());

test.skipIf('why' in compiled).each(Object.keys(states))(
  '%s',
  async (name) => {
    documents.length = 0;
    await states[name]!();
    expect(problemsOf(documents)).toEqual([]);
  },
  120_000,
);

function problemsOf(given: typeof documents): string[] {
  const { classPath } = compiled as { classPath: string };
  const input = given.map(({ line }) => `${line}\n`).join('');
  const output = execFileSync('java', ['-cp', classPath, 'Reader'], { input, encoding: 'utf8', maxBuffer: 1 << 24 });
  const problems = output.split('\n').slice(0, given.length);
  expect(problems).toHaveLength(given.length);
  return problems.flatMap((problem, at) => (problem === '' ? [] : [`${given[at]!.where}: ${problem}`]));
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ClusterWatch } from '../../src/scheduler/cluster/cluster-watch.service.js';
import { Api } from '../e2e/support/api.js';
import { AgentCluster } from '../support/agent-cluster.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { startTestApp } from '../support/test-app.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

const resources = { cpus: 0.05, memoryMb: 16 };
const patience = { timeoutMillis: 60_000 };

let cluster: AgentCluster;
let line: TcpProxy;
let app: Awaited<ReturnType<typeof startTestApp>>;
let api: Api;
const notes = tempFolder();
beforeEach(async () => {
  // Users of their own could not write where this test looks.
  cluster = await AgentCluster.start({ settings: { tasksRunAs: 'AGENT' } });
  await cluster.driver.stop();
  const behind = await cluster.driverBehindLine();
  ({ line } = behind);
  app = await startTestApp({ driver: behind.driver });
  api = new Api(app.url);
  await waitFor('the slave', async () => (await api.get<unknown[]>('slaves')).length === 1, patience);
});
afterEach(async () => {
  await app.close();
  await cluster.close();
  notes.remove();
});

const deployed = async (id: string, requestType: 'SERVICE' | 'ON_DEMAND', command: string) => {
  await api.saveRequest({ id, requestType, ...(requestType === 'SERVICE' && { instances: 2 }) });
  await api.deploy({ requestId: id, id: 'd1', command, resources, considerHealthyAfterRunningForSeconds: 0 });
  await api.deployEnded(id, 'd1');
};
const run = (id: string, runId: string) => api.post(`requests/request/${id}/run`, { runId });
const runs = async (id: string) =>
  (await api.endedTasks(id)).map(({ runId, lastTaskState }) => `${runId} ${lastTaskState}`).toSorted();
/** Its agent has had its time. */
const giveUp = () => app.app.get(ClusterWatch).tasksUnreachable(['s1']);

test('after the line to an agent was cut: nothing is restarted, what ended is told, what never came is run', async () => {
  const note = join(notes.path, 'ended');
  await deployed('web', 'SERVICE', 'exec sleep 1000');
  await deployed('short', 'ON_DEMAND', `sleep 1; touch ${note}`);
  await deployed('lost', 'ON_DEMAND', 'true');
  const web = (await api.running('web', 2)).map(({ taskId }) => taskId.id).toSorted();
  await run('short', 'began');
  await waitFor('its start', async () => (await api.activeTasks('short')).length === 1, patience);
  await waitFor('its process', () => cluster.processes().length > 4, patience);
  line.cut();
  await run('lost', 'never-came');
  await waitFor('its launch', async () => (await api.activeTasks('lost')).length === 1, patience);
  await waitFor('the end that nobody hears of', () => existsSync(note), patience);
  await giveUp();
  expect(await runs('lost')).toEqual(['never-came TASK_UNREACHABLE']);
  line.restore();
  await waitFor('the run that had not come', async () => (await runs('lost')).length === 2, patience);
  expect(await runs('lost')).toEqual(['never-came TASK_DROPPED', 'never-came TASK_FINISHED']);
  await waitFor('the end of the other', async () => (await runs('short'))[0] === 'began TASK_FINISHED', patience);
  expect(await runs('short')).toEqual(['began TASK_FINISHED']);
  expect((await api.running('web', 2)).map(({ taskId }) => taskId.id).toSorted()).toEqual(web);
  expect(await api.endedTasks('web')).toEqual([]);
}, 180_000);

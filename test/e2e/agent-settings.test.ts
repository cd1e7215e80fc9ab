import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import { freePort } from '../support/free-port.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* Settings under cluster.local, from the file of the operator to what clients and tasks see of them. */

const readToken = 'for-the-log-tool-only';
let installation: Installation;
let api: Api;
let filesPort: number;
beforeAll(async () => {
  filesPort = await freePort();
  const local = { files: { readToken, port: filesPort }, honorRunningSentinel: true, sandboxEnvPrefix: 'OLDER' };
  installation = new Installation({ database: createDatabase, local, settings: { compatibility: '1.5' } });
  ({ api } = await installation.start(['start']));
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

const resources = { cpus: 0.1, memoryMb: 32 };
const managed = { customExecutorCmd: '/usr/local/bin/executor', resources, considerHealthyAfterRunningForSeconds: 0 };

test('the log tool of older installations finds the logs of a task, and fetches them from its machine', async () => {
  await api.saveRequest({ id: 'logs', requestType: 'RUN_ONCE' });
  const cmd = `sh -c 'echo "$OLDER_TASK_ID"; echo rotated >../logs/service.log-1'`;
  await api.deploy({ requestId: 'logs', id: 'v1', ...managed, executorData: { cmd, skipLogrotateAndCompress: true } });
  const taskId = await waitFor('the end of the task', async () => {
    const [task] = await api.endedTasks('logs');
    return task?.lastTaskState === 'TASK_FINISHED' && task.taskId.id;
  });
  const browse = (path: string) => api.get<SandboxListing>(`sandbox/${taskId}/browse?path=${path}`);
  const { slaveHostname, fullPathToRoot, currentDirectory, files } = await browse(taskId);
  expect(files.map(({ name }) => name)).toContain('service.log');
  expect((await browse(`${taskId}/logs`)).files.map(({ name }) => name)).toEqual(['service.log-1']);
  const fetchLog = async (name: string) => {
    // As the tool asks: the token of the API, where it has one, goes to the machine as well.
    const headers = { 'X-Muster-Read-Token': readToken, Authorization: 'Bearer of-the-api', 'Accept-Encoding': 'gzip' };
    const path = encodeURIComponent(`${fullPathToRoot}/${currentDirectory}/${name}`);
    const response = await fetch(`http://${slaveHostname}:${filesPort}/files/download?path=${path}`, { headers });
    expect(response.status).toBe(200);
    return response.text();
  };
  expect(await fetchLog('service.log')).toBe(`${taskId}\n`);
  expect(await fetchLog('logs/service.log-1')).toBe('rotated\n');
  const page = await (await fetch(`${api.url}/ui`)).text();
  expect(page).toContain(`"slaveHttpPort":${filesPort}`);
});

test('a task with a running sentinel runs when it is there', async () => {
  await api.saveRequest({ id: 'slow', requestType: 'WORKER', instances: 1 });
  const cmd = `sh -c 'while [ ! -e ../go ]; do sleep 0.1; done; touch up; exec sleep 600'`;
  await api.deploy({ requestId: 'slow', id: 'v1', ...managed, executorData: { cmd, runningSentinel: 'up' } });
  const [task] = await waitFor('the task', async () => {
    const tasks = await api.activeTasks('slow');
    return tasks.length === 1 && tasks;
  });
  const { id } = task!.taskId;
  const states = async () => (await api.history(id)).taskUpdates.map(({ taskState }) => taskState);
  await waitFor('its start', async () => (await states()).includes('TASK_STARTING'));
  const { fullPathToRoot } = await api.get<SandboxListing>(`sandbox/${id}/browse?path=`);
  expect(await states()).not.toContain('TASK_RUNNING');
  writeFileSync(`${fullPathToRoot}/${id}/go`, '');
  await api.running('slow', 1);
  const running = (await api.history(id)).taskUpdates.find(({ taskState }) => taskState === 'TASK_RUNNING');
  expect(running?.statusMessage).toContain('health file found');
});

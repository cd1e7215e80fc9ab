import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RequestParent } from '../../src/core/model/request.js';
import type { Task, TaskCleanup } from '../../src/core/model/task.js';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/* What clients of version 1.5.0 and before send word by word, at the addresses where they look by themselves. */

const installation = new Installation({
  database: createDatabase,
  settings: { compatibility: '1.5', http: { contextPath: '/singularity' } },
});
let api: Api;
beforeAll(async () => {
  api = (await installation.start()).api;
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

interface Answer<Body> {
  status: number;
  type: string | null;
  body: Body;
}
async function send<Body>(method: string, path: string, body?: string, headers = {}): Promise<Answer<Body>> {
  const given = { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers };
  const answer = await fetch(`${api.url}/api${path}`, { method, body, headers: given });
  const text = await answer.text();
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    body: (text === '' ? undefined : JSON.parse(text)) as Body,
  };
}

test('starts below the path that the older installation had, and says so', () => {
  expect(api.url).toMatch(/\/singularity$/);
});

test('forms and generated clients create, deploy and scale with numbers and truth values as text', async () => {
  const web = '{"id":"web","requestType":"SERVICE","instances":"2","rackSensitive":"false","loadBalanced":0}';
  expect(await send('POST', '/requests', web)).toMatchObject({
    status: 200,
    type: 'application/json',
    body: { request: { id: 'web', instances: 2, rackSensitive: false, loadBalanced: false } },
  });
  const resources = { cpus: '0.1', memoryMb: '16', numPorts: '1' };
  const deploy = JSON.stringify({ deploy: { requestId: 'web', id: 'd1', command: 'sleep 1000', resources } });
  // As the JVM client writes it: it names what it could read.
  const encoding = { 'content-encoding': 'snappy,gzip,deflate' };
  expect(await send('POST', '/deploys', deploy, encoding)).toMatchObject({
    status: 200,
    body: { pendingDeploy: { resources: { cpus: 0.1, memoryMb: 16, numPorts: 1 } } },
  });
  expect((await api.deployEnded('web', 'd1')).deployResult?.deployState).toBe('SUCCEEDED');
  const scaled = await send<RequestParent>('PUT', '/requests/request/web/scale', '{"instances":"3","incremental":1}');
  expect([scaled.status, scaled.body.request.instances]).toEqual([200, 3]);
  await api.running('web', 3);
});

test('is told of a limit as strictly as ever', async () => {
  expect(await send('PUT', '/requests/request/web/scale', '{"instances":"0"}')).toMatchObject({
    status: 400,
    type: 'application/json',
    body: { code: 400, error: 'INVALID_REQUEST', errors: [{ field: 'instances' }] },
  });
  expect((await send('PUT', '/requests/request/web/scale', '{"instances":"1000"}')).status).toBe(400);
});

test('finds tasks under the names that it knows, with their ports', async () => {
  const [task] = await api.running('web', 3);
  const { body } = await send<{ task: Task & { mesosTask: Task['clusterTask'] } }>(
    'GET',
    `/history/task/${task!.taskId.id}`,
  );
  expect(body.task.mesosTask).toEqual(expect.objectContaining({ name: body.task.clusterTask?.name }));
  expect(body.task.offers).toMatchObject([{ agentId: { value: 'slave1' } }]);
  expect((await send('GET', '/disasters/stats')).body).toMatchObject({
    stats: expect.any(Array) as unknown,
    disasterStates: expect.any(Array) as unknown,
    automatedActionDisabled: false,
  });
  expect((await send('GET', '/state')).body).toMatchObject({ activeAgents: 1 });
});

test('freezes by priority without a word about kills', async () => {
  expect(await send('POST', '/priority/freeze', '{"minimumPriorityLevel":"0.1"}')).toMatchObject({
    status: 200,
    body: { priorityFreeze: { minimumPriorityLevel: 0.1, killTasks: false } },
  });
  expect((await send('DELETE', '/priority/freeze')).status).toBe(202);
});

test('reads the description of the API beside the API', async () => {
  expect(await send('GET', '/openapi.json')).toMatchObject({
    status: 200,
    type: 'application/json',
    body: { servers: [{ url: '/singularity' }] },
  });
});

test('reads a file by a path that begins with the id of the task', async () => {
  const [task] = await api.running('web', 3);
  const id = task!.taskId.id;
  expect((await send('GET', `/sandbox/${id}/read?path=${id}/stdout&offset=0`)).status).toBe(200);
  expect((await send('GET', `/sandbox/${id}/browse?path=${id}`)).body).toMatchObject({ currentDirectory: '' });
});

test('bounces with truth values as text', async () => {
  const bounce = '{"incremental":"true","skipHealthchecks":"false","durationMillis":"60000"}';
  expect((await send('POST', '/requests/request/web/bounce', bounce)).status).toBe(200);
});

test('is refused by the names that it sent', async () => {
  const deploy = { requestId: 'web', id: 'd2', command: 'true' };
  const images = { type: 'MESOS', mesos: { image: { type: 'APPC', appc: { name: 'x' } } } };
  const refusal = async (changes: object) => {
    const { body } = await send<{ message: string }>(
      'POST',
      '/deploys',
      JSON.stringify({ deploy: { ...deploy, ...changes } }),
    );
    return body.message;
  };
  expect(await refusal({ containerInfo: images })).toContain('deploy.containerInfo.mesos.image.type');
  expect(await refusal({ mesosLabels: [{ value: 'no key' }] })).toContain('deploy.mesosLabels.0.key');
  const artifacts = [{ name: 'a', filename: 'a', s3Bucket: 7 }];
  expect(await refusal({ executorData: { cmd: 'x', s3Artifacts: artifacts } })).toContain('.s3Artifacts.0.');
  const action = await send<{ message: string }>('POST', '/disasters/disabled-actions/VIEW_AGENTS', '{}');
  expect([action.status, action.body.message]).toEqual([400, expect.stringContaining('VIEW_AGENTS')]);
});

test("takes the call of the web UI's button 'Override cleanup', which says no override", async () => {
  const command = `trap '' TERM; while true; do sleep 0.2; done`;
  // A second one finds no place: the bounce waits for as long as this looks.
  const large = { cpus: 6, memoryMb: 16 };
  await api.saveRequest({ id: 'held', requestType: 'SERVICE' });
  await api.deploy({ requestId: 'held', id: 'd1', command, resources: large });
  await api.deployEnded('held', 'd1');
  const [task] = await api.running('held', 1);
  const { id } = task!.taskId;
  expect((await send('POST', '/requests/request/held/bounce', '{"incremental":false}')).status).toBe(200);
  const cleanup = async () =>
    (await send<TaskCleanup[]>('GET', '/tasks/cleaning')).body.find(({ taskId }) => taskId.id === id)?.cleanupType;
  await waitFor('the bounce', async () => (await cleanup()) === 'BOUNCING');
  /** As the button sends it, its box checked or not. */
  const press = (body: object) => send('DELETE', `/tasks/task/${id}?user=visitor`, JSON.stringify(body));
  expect(await press({ waitForReplacementTask: true })).toMatchObject({ status: 200 });
  expect(await cleanup()).toBe('USER_REQUESTED_TASK_BOUNCE');
  expect(await press({ waitForReplacementTask: false })).toMatchObject({
    status: 200,
    body: { cleanupType: 'USER_REQUESTED' },
  });
  // It ends without the grace that it would take.
  await press({ override: true });
  await waitFor('its end', async () => (await api.endedTasks('held'))[0]?.lastTaskState === 'TASK_KILLED');
  // The replacement would take its grace when the product stops.
  expect(await send('DELETE', '/requests/request/held', '{"force":true}')).toMatchObject({ status: 200 });
  await waitFor('the end of its replacement', async () => (await api.activeTasks('held')).length === 0);
});

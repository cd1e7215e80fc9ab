import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DeployHistory } from '../../src/core/model/deploy.js';
import type { RequestParent } from '../../src/core/model/request.js';
import type { Task, TaskHistory, TaskId, TaskIdHistory } from '../../src/core/model/task.js';
import type { Api } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/* What published clients of this API do, call by call, with what they really send and read. */

const installation = new Installation({
  database: createDatabase,
  settings: { legacyFieldNames: 'accept+emit', sandboxDefaultsToTaskId: true, logFolder: { enabled: false } },
});
let api: Api;
const resources = { cpus: 0.1, memoryMb: 16, numPorts: 1 };

beforeAll(async () => {
  api = (await installation.start()).api;
  await api.saveRequest({ id: 'web', requestType: 'SERVICE' });
  const executorData = { cmd: "sh -c 'echo hello; exec sleep 1000'" };
  await api.deploy({ id: 'd1', requestId: 'web', executorData, customExecutorCmd: 'executor', resources });
  await api.running('web', 1);
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

interface Answer<Body> {
  status: number;
  headers: Headers;
  text: string;
  body: Body;
}
/** As it leaves a client: no more headers than given. */
async function send<Body>(method: string, path: string, body?: string, type?: string): Promise<Answer<Body>> {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  const response = await fetch(`${api.url}/api${path}`, { method, headers, body, signal: AbortSignal.timeout(15_000) });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson && text ? JSON.parse(text) : undefined) as Body,
  };
}
const sendJson = <Body>(method: string, path: string, body: unknown): Promise<Answer<Body>> =>
  send<Body>(method, path, JSON.stringify(body), 'application/json');

describe('the library for the JVM', () => {
  test('creates a job, reads it back, deploys it and follows the deploy until it has ended', async () => {
    const job = { id: 'once', requestType: 'RUN_ONCE', instances: 1 };
    // Optional values travel as null.
    const sent = { ...job, owners: null, schedule: null, rackSensitive: null, mesosLabels: null };
    expect((await sendJson('POST', '/requests', sent)).status).toBe(200);
    const read = await send<RequestParent>('GET', '/requests/request/once?useWebCache=true');
    expect(read.body.request).toEqual(job);
    const deploy = {
      requestId: 'once',
      id: 'd1',
      command: 'sleep 1',
      resources,
      mesosLabels: [{ key: 'a', value: 'b' }],
    };
    const started = await sendJson<RequestParent>('POST', '/deploys?largeScaleDownAcknowledged=false', {
      deploy,
      unpauseOnSuccessfulDeploy: null,
      message: null,
      updatedRequest: null,
    });
    expect([started.body.request.id, started.body.activeDeploy?.id]).toEqual(['once', 'd1']);
    const history = '/history/request/once/deploy/d1';
    const ended = await waitFor('the deploy to end', async () => {
      const { body } = await send<DeployHistory>('GET', history);
      return body.deployResult && body;
    });
    expect(ended.deployResult).toMatchObject({ deployState: 'SUCCEEDED', deployFailures: [] });
    expect(ended.deploy).toMatchObject({ clusterLabels: [{ key: 'a', value: 'b' }] });
    expect(ended.deploy).toMatchObject({ mesosLabels: [{ key: 'a', value: 'b' }], s3UploaderAdditionalFiles: [] });
    await waitFor('the run to end', async () => (await api.endedTasks('once')).length === 1);
  });

  test('asks by its head whether a request is there; a tag would have to be a whole number', async () => {
    const head = await send('HEAD', '/requests/request/web');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('etag') ?? '0').toMatch(/^"?\d+"?$/);
    expect((await send('HEAD', '/requests/request/none')).status).toBe(404);
  });

  test('reads numeric codes of errors, and their message', async () => {
    const missing = await send<{ code: number; message: string }>('GET', '/requests/request/none');
    expect(missing).toMatchObject({
      status: 404,
      body: { code: 404, message: expect.stringContaining('none') as string },
    });
  });

  test('sends addresses as plain text or as JSON', async () => {
    const path = '/notifications/unsubscribe';
    expect((await send('POST', path, 'a@b.example', 'text/plain')).status).toBe(204);
    expect((await send('POST', path, 'c@d.example', 'application/json')).status).toBe(204);
    expect((await send('POST', path, '"e@f.example"', 'application/json; charset=utf-8')).status).toBe(204);
    const unsubscribed = ['a@b.example', 'c@d.example', 'e@f.example'];
    expect((await send('GET', '/notifications/blacklist')).body).toEqual(unsubscribed);
    expect((await send('GET', '/notifications/blocklist')).body).toEqual(unsubscribed);
    expect((await send('POST', '/notifications/subscribe', 'c@d.example', 'text/plain')).status).toBe(204);
    expect((await send('GET', '/notifications/allowlist')).body).toEqual(['c@d.example']);
  });

  test('registers a webhook and removes it by its id, encoded once more', async () => {
    const uri = 'http://127.0.0.1:9/hook?a=b';
    const register = () => sendJson('POST', '/webhooks', { uri, type: 'TASK', id: null, timestamp: 5, user: null });
    expect((await register()).text).toBe('"CREATED"');
    expect((await register()).text).toBe('"EXISTED"');
    const [webhook] = (await send<{ id: string }[]>('GET', '/webhooks')).body;
    const query = `webhookId=${encodeURIComponent(webhook!.id)}`;
    expect((await send('GET', `/webhooks/task?${query}`)).body).toBeInstanceOf(Array);
    expect((await send('DELETE', `/webhooks?${query}`)).text).toBe('"DELETED"');
    expect((await send('DELETE', `/webhooks/?${query}`, '{}', 'application/json')).text).toBe('"DIDNT_EXIST"');
  });

  test('of newer versions says agent for slave', async () => {
    const agents = (await send<{ id: string }[]>('GET', '/agents?state=ACTIVE')).body;
    expect(agents.map(({ id }) => id)).toEqual(['slave1']);
    expect((await send('GET', '/agents/agent/slave1/details')).body).toMatchObject({ id: 'slave1' });
    expect((await send<TaskId[]>('GET', '/tasks/active/agent/slave1/ids')).body.length).toBeGreaterThan(0);
    expect((await send('GET', '/state?skipCache=true')).body).toMatchObject({ activeAgents: 1, activeSlaves: 1 });
    const placed = {
      id: 'placed',
      requestType: 'WORKER',
      agentPlacement: 'SEPARATE',
      requiredAgentAttributes: { a: 'b' },
    };
    expect((await sendJson<RequestParent>('POST', '/requests', placed)).body.request).toMatchObject({
      slavePlacement: 'SEPARATE',
      agentPlacement: 'SEPARATE',
      requiredSlaveAttributes: { a: 'b' },
    });
    const frozen = '/agents/agent/slave1/freeze';
    expect((await send('POST', frozen)).status).toBe(200);
    expect((await sendJson('POST', '/agents/agent/slave1/activate', { message: null })).status).toBe(200);
    const action = '/disasters/disabled-actions/FREEZE_AGENT';
    expect((await sendJson('POST', action, { type: 'FREEZE_AGENT', message: 'not now' })).status).toBe(204);
    expect((await send('POST', frozen)).status).toBe(409);
    expect((await send('DELETE', action)).status).toBe(204);
  });
});

describe('the generated library for Go', () => {
  const all =
    'count=0&page=0&start=0&end=0&offset=0&length=0&grep=&lastTaskStatus=&deployId=&host=&runId=&startedBefore=0' +
    '&startedAfter=0&updatedBefore=0&updatedAfter=0&orderDirection=&useWebCache=false&skipZk=false&state=&limit=0';

  test('posts a request and a deploy, then asks the request and the history of the deploy', async () => {
    const zeros = { id: 'go', requestType: 'SERVICE', owners: [], rackSensitive: false, loadBalanced: false };
    expect((await sendJson('POST', '/requests', zeros)).status).toBe(200);
    const started = await sendJson<RequestParent>('POST', '/deploys', {
      deploy: { requestId: 'go', id: 'v1', command: 'sleep 1000', resources, env: { PORT: 8080, DEBUG: true } },
      unpauseOnSuccessfulDeploy: false,
    });
    expect(started.body).toMatchObject({
      state: 'ACTIVE',
      pendingDeploy: { id: 'v1', env: { PORT: '8080', DEBUG: 'true' } },
      requestDeployState: { pendingDeploy: { deployId: 'v1' } },
    });
    const ended = await api.deployEnded('go', 'v1');
    expect(ended.deployResult).toMatchObject({ deployState: 'SUCCEEDED', deployFailures: [] });
    const parent = (await send<RequestParent>('GET', `/requests/request/go/?${all}`)).body;
    expect([parent.activeDeploy?.id, parent.pendingDeploy]).toEqual(['v1', undefined]);
  });

  test('what it always sends leaves every list as long as it is', async () => {
    for (const list of ['/requests', '/history/request/once/tasks', '/history/tasks', '/slaves', '/racks']) {
      const plain = (await send<unknown[]>('GET', list)).body;
      expect([list, (await send<unknown[]>('GET', `${list}/?${all}`)).body.length]).toEqual([list, plain.length]);
      expect(plain.length).toBeGreaterThan(0);
    }
    expect((await send('GET', `/history/request/once/command-line-args?${all}`)).body).toBeInstanceOf(Array);
    expect((await send('GET', `/requests/lbcleanup?${all}`)).body).toEqual([]);
    expect((await send('GET', `/history/requests/search?requestIdLike=we&${all}`)).body).toEqual(['web']);
  });

  test('sends bodies with DELETE and PUT', async () => {
    const [task] = await api.activeTasks('go');
    const killed = await sendJson('DELETE', `/tasks/task/${task!.taskId.id}?useWebCache=false`, { message: 'bye' });
    expect(killed).toMatchObject({ status: 200, body: { cleanupType: 'USER_REQUESTED', message: 'bye' } });
    const scaled = await sendJson<RequestParent>('PUT', '/requests/request/go/scale', { instances: 2, message: 'two' });
    expect(scaled.body.request.instances).toBe(2);
    const gone = await sendJson('DELETE', '/requests/request/go', { message: 'done', deleteFromLoadBalancer: false });
    expect(gone).toMatchObject({ status: 200, body: { id: 'go', requestType: 'SERVICE' } });
  });
});

describe('the tool that reads logs', () => {
  const taskOf = async (): Promise<TaskIdHistory> => {
    const { body } = await send<TaskIdHistory[]>('GET', '/history/request/web/tasks/active');
    return body[0]!;
  };

  test('finds tasks by the names of their requests, the newest first, with 13 digits of time', async () => {
    expect((await send<RequestParent[]>('GET', '/requests')).body.map(({ request }) => request.id)).toContain('web');
    const task = await taskOf();
    expect(task).toMatchObject({
      taskId: { id: expect.stringMatching(/^web-d1-\d{13}-1-/) as string, deployId: 'd1' },
    });
    expect([String(task.updatedAt).length, String(task.taskId.startedAt).length]).toEqual([13, 13]);
    const history = (await send<TaskHistory>('GET', `/history/task/${task.taskId.id}`)).body;
    expect(history.taskUpdates.at(-1)).toMatchObject({ taskState: 'TASK_RUNNING', timestamp: task.updatedAt });
  });

  test('lists the folder of a task, with and without a path', async () => {
    const { taskId } = await taskOf();
    const root = (await send<{ files: { name: string }[] }>('GET', `/sandbox/${taskId.id}/browse`)).body;
    expect(root).toMatchObject({ slaveHostname: 'localhost', agentHostname: 'localhost', currentDirectory: taskId.id });
    const [file] = root.files.filter(({ name }) => name === 'service.log');
    const mtime = expect.closeTo(Date.now() / 1000, -3) as number;
    expect(file).toMatchObject({ size: 6, mtime, mode: expect.stringMatching(/^-rw/) as string });
    expect((await send('GET', `/sandbox/${taskId.id}/browse?path=${taskId.id}/logs`)).body).toMatchObject({
      slaveHostname: 'localhost',
      fullPathToRoot: expect.stringMatching(/^\//) as string,
      files: expect.any(Array) as unknown,
    });
  });

  test('follows a file: its length first, then what comes after', async () => {
    const { taskId } = await taskOf();
    const read = `/sandbox/${taskId.id}/read?path=${taskId.id}/service.log`;
    expect((await send('GET', `${read}&offset=-1`)).body).toMatchObject({ data: '', offset: 6 });
    expect((await send('GET', `${read}&length=0`)).body).toMatchObject({ data: '', offset: 6 });
    expect((await send('GET', `${read}&offset=0&length=0&grep=`)).body).toMatchObject({ data: '', offset: 6 });
    expect((await send('GET', `${read}&offset=0`)).body).toMatchObject({ data: 'hello\n', offset: 0 });
    expect((await send('GET', `${read}&offset=6`)).body).toMatchObject({ data: '', offset: 6 });
  });

  test('takes 404 for nothing: where no logs are kept, without such a task', async () => {
    expect((await send('GET', '/logs/request/web?excludeMetadata=true&start=1&end=2')).status).toBe(404);
    expect((await send('GET', '/sandbox/none-d1-1-1-h-r/browse')).status).toBe(404);
  });
});

describe('the dashboard', () => {
  test('sends {} with everything, undefined for what it does not know, and who it is', async () => {
    const act = (method: string, path: string) =>
      send<RequestParent>(method, `/requests/request/web/${path}?user=ann`, '{}', 'application/json;charset=UTF-8');
    expect((await act('POST', 'pause')).body.state).toBe('PAUSED');
    expect((await act('POST', 'unpause')).body.state).toBe('ACTIVE');
    const deploy = { requestId: 'web', id: 'd2', command: 'sleep 1000', resources };
    const path = '/deploys?largeScaleDownAcknowledged=undefined&user=ann';
    expect((await sendJson<RequestParent>('POST', path, { deploy })).body.pendingDeploy?.id).toBe('d2');
    await api.deployEnded('web', 'd2');
    const [event] = (await send<{ eventType: string }[]>('GET', '/history/request/web/requests?count=1&page=1')).body;
    expect(event?.eventType).toBe('UNPAUSED');
  });

  test('asks for some members of long lists, by the names it knows', async () => {
    const properties = 'property=taskId&property=rackId&property=mesosTask.resources';
    const [task] = (await send<(Task & { mesosTask: object })[]>('GET', `/tasks/active?${properties}`)).body;
    expect(Object.keys(task!).toSorted()).toEqual(['clusterTask', 'mesosTask', 'rackId', 'taskId']);
    expect(task!.mesosTask).toMatchObject({ resources: [{ name: 'ports' }, { name: 'cpus' }, { name: 'mem' }] });
  });

  test('reads the machine and the ports of a task from its offer and its resources', async () => {
    const [task] = await api.running('web', 1);
    const { taskRequest, offers, mesosTask } = (
      await send<{ task: Task & { mesosTask: object } }>('GET', `/history/task/${task!.taskId.id}`)
    ).body.task;
    expect(taskRequest.deploy.resources?.numPorts).toBe(1);
    expect(offers).toMatchObject([
      { hostname: 'localhost', slaveId: { value: 'slave1' }, agentId: { value: 'slave1' } },
    ]);
    expect(mesosTask).toMatchObject({ resources: [{ name: 'ports', ranges: { range: [{}] } }, {}, {}] });
  });

  test('lists ids by several states', async () => {
    const ids = (await send('GET', '/requests/ids?state=ACTIVE&state=PAUSED&state=system-cooldown')).body;
    expect(ids).toEqual(expect.arrayContaining(['web']));
  });
});

test('no answer has a member that is null', async () => {
  const [task] = await api.running('web', 1);
  const { id } = task!.taskId;
  for (const path of [
    '/requests?includeFullRequestData=true',
    '/requests/request/web',
    '/requests/request/web/simple',
    '/state',
    '/tasks/active',
    '/tasks/scheduled',
    `/tasks/task/${id}`,
    `/history/task/${id}`,
    `/track/task/${id}`,
    '/history/tasks',
    '/history/request/web/deploys',
    '/history/request/web/requests',
    '/slaves',
    '/racks',
    '/usage/slaves',
    '/usage/requests',
    '/auth/user',
    '/disasters/stats',
    `/sandbox/${id}/browse`,
  ]) {
    const { status, text } = await send('GET', path);
    expect([path, status, text.includes(':null')]).toEqual([path, 200, false]);
  }
});

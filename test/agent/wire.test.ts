import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEndpoint, sharedSecret } from '../../src/agent/state/agent-directory.js';
import { ownIdentity } from '../../src/agent/processes/process-identity.js';
import { AgentCluster, occupyPort } from '../support/agent-cluster.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';

let cluster: AgentCluster;
let url: string;
let secret: string;
beforeAll(async () => {
  cluster = await AgentCluster.start();
  const endpoint = (await readEndpoint(cluster.root))!;
  url = `http://${endpoint.host}:${endpoint.port}`;
  secret = await sharedSecret(cluster.root);
});
afterAll(() => cluster.close());

const call = (path: string, options: RequestInit = {}, token = secret) =>
  fetch(url + path, { ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  call(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

test('without the secret nothing is answered', async () => {
  expect((await fetch(`${url}/v1/machines`)).status).toBe(401);
  expect((await call('/v1/machines', {}, 'wrong')).status).toBe(401);
  expect((await call('/v1/machines', {}, `${secret}x`)).status).toBe(401);
  expect((await call('/v1/machines')).status).toBe(200);
});

test('the secret is for the owner only, and the endpoint says who listens', async () => {
  expect(statSync(join(cluster.root, 'secret')).mode & 0o777).toBe(0o600);
  const endpoint = JSON.parse(readFileSync(join(cluster.root, 'endpoint.json'), 'utf8')) as object;
  expect(endpoint).toMatchObject({
    ...ownIdentity(),
    host: '127.0.0.1',
    agentId: 'local',
    incarnation: cluster.incarnation,
  });
});

test('the first to start makes the secret, however many start at once', async () => {
  const folder = tempFolder();
  const secrets = await Promise.all(Array.from({ length: 20 }, () => sharedSecret(join(folder.path, 'agent'))));
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]).toMatch(/^[\w-]{43}$/);
  folder.remove();
});

test.each([
  { what: 'no JSON', path: '/v1/launch', body: '{', epoch: '1', says: /not valid JSON/ },
  { what: 'no epoch', path: '/v1/hello', body: '{}', epoch: '', says: /'epoch'/ },
  { what: 'an epoch that is none', path: '/v1/hello', body: '{}', epoch: '-1', says: /'epoch'/ },
  { what: 'no task', path: '/v1/kill', body: '{"graceMillis":0}', epoch: '1', says: /'taskId'/ },
])('$what is 400 and named', async ({ path, body, epoch, says }) => {
  const answer = await post(path, body, epoch === '' ? {} : { epoch });
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(says);
});

test('what there is not is 404', async () => {
  for (const path of [
    '/',
    '/v1/nothing',
    '/v1/task/statistics?taskId=',
    '/v1/task/sandbox?taskId=',
    '/v1/task/nothing?taskId=x',
    '/v1/task/statistics?taskId=toString',
  ])
    expect((await call(path)).status, path).toBe(404);
  expect((await call('/v1/task/statistics?taskId=%zz')).status).toBe(400);
  const answer = await call('/v1/launch');
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
});

test('an epoch that is over is 409, and the higher one is named', async () => {
  expect((await post('/v1/hello', '{}', { epoch: '5' })).status).toBe(200);
  const answer = await post('/v1/kill', '{"taskId":"x","graceMillis":0}', { epoch: '4' });
  expect([answer.status, answer.headers.get('highest-epoch'), await answer.text()]).toEqual([
    409,
    '5',
    'Epoch 4 is over: 5 has been seen',
  ]);
});

test('a port that something else has is told, until it is free', async () => {
  const { port, free } = await occupyPort();
  await cluster.driver.stop();
  cluster.driver = cluster.newDriver();
  await cluster.driver.start(6, cluster.seen, cluster.seen.appliedUpdate);
  await cluster.driver.launch([cluster.spec({ ports: [port] })], 6);
  await waitFor('the port in use', () => cluster.seen.slaves.get('s1')?.portsInUse.includes(port));
  expect(cluster.driver.machines()[0]?.portsInUse).toEqual([port]);
  await free();
  await waitFor('the port to be free', () => cluster.seen.slaves.get('s1')?.portsInUse.length === 0, {
    timeoutMillis: 15_000,
  });
});

test('shutdown ends the tasks if asked to, then the agent', async () => {
  const other = await AgentCluster.start();
  const spec = await other.launch(`trap 'exit 0' TERM; while :; do sleep 0.02; done`);
  await other.untilState(spec, 'TASK_RUNNING');
  const endpoint = (await readEndpoint(other.root))!;
  const answer = await fetch(`http://${endpoint.host}:${endpoint.port}/v1/shutdown`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await sharedSecret(other.root)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ killTasks: true, graceMillis: 10_000 }),
  });
  expect(answer.status).toBe(204);
  expect(other.processes()).toEqual([]);
  await waitFor('the end', async () => (await readEndpoint(other.root)) === undefined);
  // It says first that it goes, and holds its folder until it has gone.
  await other.stopAgent();
  await other.startAgent();
  await other.untilState(spec, 'TASK_KILLED');
  await other.close();
});

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEventStream, type EventClient } from '../support/event-client.js';
import { waitFor } from '../support/wait-for.js';
import { everyOperationWasCalled, operationsOf } from './operations.js';
import { ran, serving, sleepDeploy } from './running-tasks.js';

/* What really happens is told, each kind by the action that causes it, with all its members. */

const size = { hostname: 'localhost', cpus: 4, memoryMb: 1024, diskMb: 1024 };
const operations = operationsOf(['Events'], {
  settings: {
    crashLoop: { cooldownFailureThreshold: 0, oomFailureThreshold: 0 },
    cluster: { local: { slaves: [{ ...size, id: 's1', rackId: 'rack1' }] } },
  },
});
const clients: EventClient[] = [];
afterAll(() => {
  for (const client of clients) client.close();
});

async function listen(query = ''): Promise<EventClient> {
  const client = await openEventStream(`${operations.api.url}/api/events${query}`);
  clients.push(client);
  for (const ledger of operations.ledgers) ledger.record('GET /api/events', client.status);
  return client;
}
const data = (client: EventClient) => client.events.map((event) => event.data);
const told = (client: EventClient, wanted: Record<string, unknown>) =>
  waitFor(`an event ${JSON.stringify(wanted)}`, () =>
    data(client).find((event) => Object.entries(wanted).every(([name, value]) => event[name] === value)),
  );
const at = expect.any(Number) as number;

/** Ends well, again and again, which is not what a worker does: the first look at crash loops after a minute finds it. */
beforeAll(async () => {
  await operations.api.saveRequest({ id: 'restless', requestType: 'WORKER' });
  await operations.api.deploy(
    sleepDeploy('restless', { command: 'sleep 1', considerHealthyAfterRunningForSeconds: 0 }),
  );
}, 60_000);

test('a query that cannot be read is refused', async () => {
  const queries: Record<string, string>[] = [{ type: 'NOISE' }, { lastEventId: 'x' }];
  for (const query of queries) await operations.call('GET /api/events', 400, { query });
});

test('requests, deploys and their tasks', async () => {
  const client = await listen('?requestId=web');
  const { api } = operations;
  const [task] = await serving(api, { id: 'web' }, { message: 'the first' } as object);
  await api.post('requests/request/web/pause', { message: 'lunch' });
  await told(client, { type: 'TASK', taskState: 'TASK_KILLED' });
  await api.post('requests/request/web/unpause');
  await api.call('DELETE', 'requests/request/web');
  await told(client, { type: 'REQUEST', eventType: 'DELETED' });
  const requestId = 'web';
  const changes = data(client).filter(({ type }) => type === 'REQUEST');
  expect(changes.map(({ eventType }) => eventType)).toEqual(['CREATED', 'PAUSED', 'UNPAUSED', 'DELETING', 'DELETED']);
  expect(changes[1]).toEqual({
    type: 'REQUEST',
    at,
    requestId,
    eventType: 'PAUSED',
    message: 'lunch',
  });
  const deploys = data(client).filter(({ type, eventType }) => type === 'DEPLOY' && eventType !== 'STEP');
  const ofDeploy = { type: 'DEPLOY', at, requestId, deployId: 'd1' };
  expect(deploys).toMatchObject([
    { ...ofDeploy, eventType: 'STARTING' },
    { ...ofDeploy, eventType: 'FINISHED', deployState: 'SUCCEEDED' },
  ]);
  const { id } = task!.taskId;
  const waits = data(client).filter(({ type }) => type === 'PENDING');
  expect(waits[0]).toEqual({ type: 'PENDING', at, requestId, deployId: 'd1', eventType: 'QUEUED', tasks: 1 });
  const states = data(client).filter(({ type, taskId }) => type === 'TASK' && taskId === id);
  const stored = (await api.history(id)).taskUpdates;
  expect(states.map(({ taskState }) => taskState)).toEqual(stored.map(({ taskState }) => taskState));
  for (const [index, { taskState, timestamp, statusMessage, statusReason }] of stored.entries()) {
    const ofTask = { type: 'TASK', at: timestamp, requestId, deployId: 'd1', taskId: id, taskState };
    expect(states[index]).toEqual(
      JSON.parse(JSON.stringify({ ...ofTask, message: statusMessage, reason: statusReason })),
    );
  }
  // Cause before effect, over the kinds.
  const places = ['CREATED', 'STARTING', 'PAUSED', 'DELETED'].map((type) =>
    data(client).findIndex(({ eventType }) => eventType === type),
  );
  expect(places).toEqual(places.toSorted((a, b) => a - b));
}, 90_000);

test('machines, and disasters', async () => {
  const { api } = operations;
  const client = await listen('?type=SLAVE&type=RACK&type=DISASTER');
  await api.post('slaves/slave/s1/freeze', { message: 'a new disk' });
  await api.post('slaves/slave/s1/activate', {});
  await api.post('racks/rack/rack1/freeze', {});
  await api.post('racks/rack/rack1/activate', {});
  await api.post('disasters/active/USER_INITIATED');
  await api.call('DELETE', 'disasters/active/USER_INITIATED');
  await told(client, { type: 'DISASTER', active: false });
  const slave = { type: 'SLAVE', at, machineId: 's1' };
  const rack = { type: 'RACK', at, machineId: 'rack1' };
  const disaster = { type: 'DISASTER', at, disaster: 'USER_INITIATED' };
  expect(data(client)).toEqual([
    { ...slave, state: 'FROZEN', message: 'a new disk' },
    { ...slave, state: 'ACTIVE' },
    { ...rack, state: 'FROZEN' },
    { ...rack, state: 'ACTIVE' },
    { ...disaster, active: true },
    { ...disaster, active: false },
  ]);
}, 60_000);

test('the run of a job, to a client that was away meanwhile', async () => {
  const { api } = operations;
  const client = await listen('?requestId=job');
  await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await api.deploy(sleepDeploy('job', { command: 'exit 3' }));
  await told(client, { type: 'DEPLOY', eventType: 'FINISHED' });
  client.close();
  const run = await ran(api, 'job', { runId: 'one' });
  const again = await openEventStream(`${api.url}/api/events?requestId=job`, { 'Last-Event-ID': client.lastId! });
  clients.push(again);
  await told(again, { taskId: run.taskId!.id, taskState: 'TASK_FAILED' });
  expect(new Set(data(again).map(({ type }) => type))).toEqual(new Set(['PENDING', 'TASK']));
}, 60_000);

test('a crash loop', async () => {
  const { api } = operations;
  const client = await listen('?type=CRASHLOOP&lastEventId=0');
  const requestId = 'restless';
  const begun = await waitFor('the crash loop', () => data(client)[0], { timeoutMillis: 130_000 });
  const loop = { type: 'CRASHLOOP', requestId, deployId: 'd1', crashLoopType: 'UNEXPECTED_EXITS', start: at };
  expect(begun).toEqual({ ...loop, at: begun['start'] });
  const shown = await api.get<object[]>('requests/request/restless/crashloops');
  expect(shown).toEqual([{ requestId, deployId: 'd1', type: 'UNEXPECTED_EXITS', start: begun['start'] }]);
}, 150_000);

everyOperationWasCalled(operations);

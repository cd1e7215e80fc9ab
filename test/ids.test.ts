import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isReservedName } from '../src/core/ids.js';
import { SimulatedCluster } from './support/simulated-cluster/simulated-cluster.js';
import type { SimulatedDriver } from './support/simulated-cluster/simulated-driver.js';
import { startTestApp, type TestApp } from './support/test-app.js';
import { waitFor } from './support/wait-for.js';

/* An id that is accepted can be managed: by each path that names it, percent-encoded where it need not be, too. */

const cluster = new SimulatedCluster({ machines: 0 });
const machine = { slaveId: '...', hostname: 'h/1 ü', rackId: 'r/1 %2F ?#;ü' };
let app: TestApp<SimulatedDriver>;
beforeAll(async () => {
  app = await startTestApp({ driver: cluster.driver() });
  cluster.addMachine(machine);
  const isSeen = async () => (await get<unknown[]>('slaves')).body.length > 0;
  await waitFor('the machine', async () => (await cluster.advance(10), isSeen()));
}, 60_000);
afterAll(() => app.close());

/** Each character as its bytes, also those that a path may have. */
const whole = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const encodings = [encodeURIComponent, whole];

async function call<Body>(method: string, path: string, body?: object): Promise<{ status: number; body: Body }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${app.url}/api/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? undefined : JSON.parse(text)) as Body };
}
const get = <Body>(path: string) => call<Body>('GET', path);
/** A call that must be taken, and what it answers. */
async function done<Body>(method: string, path: string, body?: object): Promise<Body> {
  const answer = await call<Body>(method, path, body);
  expect([method, path, answer.status < 300 ? 'done' : answer]).toEqual([method, path, 'done']);
  return answer.body;
}

const letters = [...'abzAZ019'];
const word = (more: string, most: number) =>
  fc.string({ unit: fc.constantFrom(...letters, ...more), minLength: 1, maxLength: most });
/** Words of this API among them: what stands in paths beside an id. */
const requestIds = fc
  .oneof(word('_-', 40), word('_-', 4), fc.constantFrom('r-', 'request', 'run', 'search', 'active', 'task', 'a--'))
  .filter((id) => !/^(null|undefined|ids|batch)$/i.test(id) && !isReservedName(id));
const deployIds = fc
  .oneof(word('_.', 20), fc.constantFrom('...', '.a', 'tasks', 'pending'))
  .filter((id) => !/^\.\.?$/.test(id) && !isReservedName(id));
const runIds = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    word('-_./%?#&;=+\\ "\'', 30),
    fc.constant('a/../b'),
  )
  .filter((id) => id.length <= 100 && id !== '.' && id !== '..' && !/\p{Cc}/u.test(id));
const uris = fc.tuple(word('-._~', 10), word('/%?#&=+', 20)).map(([host, path]) => `http://${host}.example/${path}`);

let rounds = 0;
test('requests, deploys, runs, tasks, groups, webhooks and slaves, under random ids', async () => {
  await fc.assert(
    fc.asyncProperty(requestIds, deployIds, runIds, uris, async (requestId, deployId, runId, uri) => {
      rounds++;
      // The id of a deploy is used once.
      const isNew = rounds === 1 ? deployId : `${deployId}${rounds}`;
      await manage({ requestId, deployId: isNew, runId, uri: URL.canParse(uri) ? uri : 'http://a.example/' });
    }),
    { numRuns: 6, endOnFailure: true, examples: [['a-', '...', '/%2F+ ?#..', 'http://a.example/%2F?a=b#c']] },
  );
  expect(rounds).toBeGreaterThan(0);
}, 120_000);

interface Ids {
  requestId: string;
  deployId: string;
  runId: string;
  uri: string;
}

async function manage({ requestId, deployId, runId, uri }: Ids): Promise<void> {
  await done('POST', 'requests', { id: requestId, requestType: 'ON_DEMAND', instances: 5 });
  const deploy = { requestId, id: deployId, command: 'sleep 1', resources: { cpus: 0.1, memoryMb: 8 } };
  await done('POST', 'deploys', { deploy });
  await done('POST', 'groups', { id: requestId, requestIds: [requestId] });
  await done('POST', `requests/request/${requestId}/run`, { runId });
  // One that stays in the queue.
  await done('POST', `requests/request/${whole(requestId)}/run`, { runId: `${runId}2`, runAt: Date.now() + 3_600_000 });

  const isRunning = async () => {
    await cluster.advance(20);
    const found = await get<{ taskId?: { id: string } }>(`track/run/${requestId}/${encodeURIComponent(runId)}`);
    return found.body.taskId?.id;
  };
  const taskId = await waitFor(`the run ${runId} of ${requestId}`, isRunning);
  for (const encode of encodings) await look(encode, { requestId, deployId, runId, taskId });
  const [pending] = await done<{ pendingTask: { pendingTaskId: { id: string } } }[]>(
    'GET',
    `tasks/scheduled/request/${requestId}`,
  );
  const pendingTaskId = pending!.pendingTask.pendingTaskId.id;
  await done('GET', `tasks/scheduled/task/${whole(pendingTaskId)}`);
  await done('DELETE', `tasks/scheduled/task/${encodeURIComponent(pendingTaskId)}`);
  await done('DELETE', `tasks/task/${whole(taskId)}`);

  for (const [index, encode] of [encodeURIComponent, whole, encodeURI].entries()) {
    await done('POST', 'webhooks', { uri, type: 'TASK' });
    const hooks = await done<{ id: string; uri: string }[]>('GET', 'webhooks');
    const { id } = hooks.find((hook) => hook.uri === uri)!;
    await done('GET', `webhooks/task/${whole(id)}`);
    // As it is read, as it is written in a path, and as the type with the address.
    const given = index < 2 ? encode(id) : whole(`TASK-${uri}`);
    expect([id, await done('DELETE', `webhooks/${given}`)]).toEqual([id, 'DELETED']);
  }
  await done('DELETE', `groups/group/${whole(requestId)}`);
  await done('DELETE', `requests/request/${whole(requestId)}`);
  await waitFor(`the removal of ${requestId}`, async () => {
    await cluster.advance(20);
    return (await get(`requests/request/${requestId}`)).status === 404;
  });
}

async function look(encode: (text: string) => string, ids: Omit<Ids, 'uri'> & { taskId: string }): Promise<void> {
  const [request, deploy, run, task] = [ids.requestId, ids.deployId, ids.runId, ids.taskId].map(encode);
  const [slave, rack] = [machine.slaveId, machine.rackId].map(encode);
  const paths = [
    `requests/request/${request}`,
    `requests/request/${request}/simple`,
    `requests/request/${request}/run/${run}`,
    `groups/group/${request}`,
    `history/request/${request}/deploy/${deploy}`,
    `history/request/${request}/deploy/${deploy}/tasks/active`,
    `history/request/${request}/deploys`,
    `history/request/${request}/requests`,
    `history/request/${request}/tasks`,
    `history/request/${request}/command-line-args`,
    `history/task/${task}`,
    `tasks/task/${task}`,
    `tasks/ids/request/${request}`,
    `tasks/active/slave/${slave}`,
    `tasks/active/slave/${slave}/ids`,
    `track/task/${task}`,
    `track/run/${request}/${run}`,
    `slaves/slave/${slave}/details`,
  ];
  for (const path of paths) await done('GET', path);
  expect(await done<unknown[]>('GET', `tasks/active/slave/${slave}/ids`)).toContainEqual(
    expect.objectContaining({ id: ids.taskId }),
  );
  for (const [kind, id] of [
    ['slaves/slave', slave],
    ['racks/rack', rack],
  ]) {
    await done('POST', `${kind}/${id}/freeze`);
    await done('POST', `${kind}/${id}/activate`);
  }
  await done('POST', `shuffle/blacklist/${request}`);
  expect(await done('GET', `shuffle/blacklist/${request}`)).toBe(true);
  await done('DELETE', `shuffle/blacklist/${request}`);
  await done('PUT', `requests/request/${request}/priority`, { priority: 0.5, durationMillis: 60_000 });
  await done('DELETE', `requests/request/${request}/priority`);
}

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAuthApp, type Answer, type AuthApp } from '../../../test/support/auth/auth-app.js';
import { SimulatedCluster } from '../../../test/support/simulated-cluster/simulated-cluster.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { makeTaskId } from '../../core/task-id.js';

/* A name is not an identity: what an id stands for now is not what it stood for, and no id is outside of the rules. */

let app: AuthApp;
const tokens: Record<string, string> = {};
const call = (who: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  app.call(method, path, { token: tokens[who], body });
const status = async (who: string, path: string) => (await call(who, 'GET', path)).status;
const rows = async (who: string, path: string) => (await call(who, 'GET', path)).body as unknown as Row[];
interface Row {
  eventType: string;
  deployMarker: { deployId: string };
  taskId: { id: string };
}
const request = (id: string, group: string) => ({ id, requestType: 'SERVICE', group });

beforeAll(async () => {
  // A task that starts would have to end before its request is gone, and the clock of the cluster stands still.
  const driver = new SimulatedCluster({ machines: 0 }).driver();
  app = await startAuthApp({ auth: { enabled: true, adminGroups: ['admins'] } }, { driver });
  const users = { ann: ['web'], bob: ['evil'], cleo: ['web', 'evil'], eve: [], alma: ['admins'] };
  for (const [id, groups] of Object.entries(users)) {
    tokens[id] = await app.tokenOf({ id, groups, email: `${id}@example.com` });
  }
});
afterAll(() => app.close());

async function remove(who: string, id: string): Promise<void> {
  expect(await call(who, 'DELETE', `/api/requests/request/${id}`)).toMatchObject({ status: 200 });
  await waitFor('the request to be gone', async () => (await status('alma', `/api/requests/request/${id}`)) === 404);
}

const taskOf = (requestId: string, startedAt: number) =>
  makeTaskId({ requestId, deployId: 'v1', startedAt, instanceNo: 1, host: 'h', rackId: 'r' }).id;

/** A task that ended in the second in which it began. */
async function endedTask(requestId: string, startedAt: number, runId: string): Promise<string> {
  const id = taskOf(requestId, startedAt);
  const argument = [runId];
  const data = { task: { taskRequest: { pendingTask: { cmdLineArgsList: argument } } }, taskUpdates: [] };
  await app.sql(
    `INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at, last_task_status, data)
     VALUES ($1, $2, 'v1', $3, 'h', 1, $4, $4, 'TASK_FINISHED', $5)`,
    [id, requestId, runId, new Date(startedAt), JSON.stringify(data)],
  );
  return id;
}

describe('an id that belonged to another request', () => {
  const history = '/api/history/request/victim';
  let oldTask: string;
  let newTask: string;

  test('is not given to who may not write what it was, and the refusal does not say whose it was', async () => {
    await call('ann', 'POST', '/api/requests', request('victim', 'web'));
    const deploy = { id: 'v1', requestId: 'victim', command: 'true', env: { DB_PASSWORD: 's3cr3t-victim' } };
    expect(await call('ann', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 200 });
    oldTask = await endedTask('victim', Date.now(), 'old');
    await remove('ann', 'victim');
    const refused = await call('bob', 'POST', '/api/requests', request('victim', 'evil'));
    expect(refused).toMatchObject({ status: 403 });
    expect(refused.body.message).not.toContain('web');
    expect(await call('eve', 'POST', '/api/requests', { id: 'victim', requestType: 'SERVICE' })).toMatchObject({
      status: 403,
    });
    expect(await status('bob', `${history}/deploys`)).toBe(403);
    expect(await status('ann', `${history}/deploys`)).toBe(200);
    const [{ n }] = (await app.sql(`SELECT count(*)::int AS n FROM request WHERE id = 'victim'`)) as [{ n: number }];
    expect(n).toBe(0);
  });

  test('may be given by who may write both, and its past stays with the groups of that time', async () => {
    expect(await call('cleo', 'POST', '/api/requests', request('victim', 'evil'))).toMatchObject({ status: 200 });
    const deploy = { id: 'v2', requestId: 'victim', command: 'true', env: { DB_PASSWORD: 'of-evil' } };
    expect(await call('bob', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 200 });
    newTask = await endedTask('victim', Date.now() + 1_000, 'new');
    const deploys = async (who: string) =>
      (await rows(who, `${history}/deploys`)).map(({ deployMarker }) => deployMarker.deployId);
    expect(await deploys('bob')).toEqual(['v2']);
    expect(await deploys('ann')).toEqual(['v1']);
    expect(await deploys('cleo')).toEqual(['v2', 'v1']);
    expect(await deploys('alma')).toEqual(['v2', 'v1']);
    expect((await call('bob', 'GET', `${history}/deploys/withmetadata`)).body['dataCount']).toBe(1);
  });

  test('shows each deploy to its own groups', async () => {
    expect(await status('bob', `${history}/deploy/v1`)).toBe(404);
    expect(JSON.stringify((await call('ann', 'GET', `${history}/deploy/v1`)).body)).toContain('s3cr3t-victim');
    expect(await status('ann', `${history}/deploy/v2`)).toBe(404);
    expect(await status('bob', `${history}/deploy/v2`)).toBe(200);
    expect(await status('alma', `${history}/deploy/v1`)).toBe(200);
  });

  test('shows the changes of each request to its own groups', async () => {
    const events = async (who: string) => (await rows(who, `${history}/requests`)).map(({ eventType }) => eventType);
    expect(await events('bob')).not.toContain('DELETED');
    expect(await events('bob')).toContain('CREATED');
    expect((await events('ann'))[0]).toBe('DELETED');
    const { dataCount } = (await call('ann', 'GET', `${history}/requests/withmetadata`)).body;
    expect(dataCount).toBe((await events('ann')).length);
    expect((await events('alma')).filter((event) => event === 'CREATED')).toHaveLength(2);
  });

  test('shows each task to its own groups', async () => {
    const tasks = async (who: string, path: string) => (await rows(who, path)).map(({ taskId }) => taskId.id);
    for (const path of [
      `${history}/tasks`,
      `${history}/deploy/v1/tasks/inactive`,
      '/api/history/tasks?requestId=victim',
    ]) {
      expect(await tasks('bob', path), path).toEqual([newTask]);
      expect(await tasks('ann', path), path).toEqual([oldTask]);
      expect(await tasks('cleo', path), path).toEqual([newTask, oldTask]);
    }
    expect((await call('bob', 'GET', `${history}/tasks/withmetadata`)).body['dataCount']).toBe(1);
    const ofOld = [
      `/api/history/task/${oldTask}`,
      `/api/tasks/task/${oldTask}`,
      `/api/track/task/${oldTask}`,
      `/api/sandbox/${oldTask}/browse`,
      `/api/sandbox/${oldTask}/read?path=stdout`,
      `/api/tasks/task/${oldTask}/command`,
      `/api/tasks/download?slaveHostname=h&path=${encodeURIComponent(`/x/${oldTask}/stdout`)}`,
    ];
    for (const path of ofOld) {
      expect(await status('bob', path), path).toBe(403);
      expect(await status('ann', path), path).not.toBe(403);
    }
    expect(await status('ann', `/api/history/task/${newTask}`)).toBe(403);
    expect(await call('bob', 'POST', `/api/tasks/task/${oldTask}/metadata`, { type: 't', title: 't' })).toMatchObject({
      status: 403,
    });
  });

  test('shows each run, and its arguments, to its own groups', async () => {
    for (const path of [`${history}/run`, '/api/requests/request/victim/run', '/api/track/run/victim']) {
      expect(await status('bob', `${path}/old`), path).toBe(404);
      expect(await status('ann', `${path}/new`), path).toBe(404);
    }
    expect((await call('bob', 'GET', `${history}/command-line-args`)).body).toEqual([['new']]);
    expect((await call('ann', 'GET', `${history}/command-line-args`)).body).toEqual([['old']]);
  });

  test('does not go back to a deploy of the request before', async () => {
    await app.sql(
      `UPDATE deploy_history SET deploy_state = 'SUCCEEDED' WHERE request_id = 'victim' AND deploy_id = 'v1'`,
    );
    const cancel = () => call('bob', 'DELETE', '/api/deploys/deploy/v2/request/victim');
    await cancel();
    await waitFor('the deploy to end', async () => {
      const [{ n }] = (await app.sql(`SELECT count(*)::int AS n FROM pending_deploy WHERE request_id = 'victim'`)) as [
        { n: number },
      ];
      return n === 0;
    });
    const rollback = { deployId: 'v1' };
    expect(await call('bob', 'POST', '/api/deploys/request/victim/rollback', rollback)).toMatchObject({ status: 404 });
  });
});

describe('ids that mean "not given" to clients', () => {
  test.each(['null', 'undefined', 'NULL', 'Undefined'])('%s is refused at creation', async (id) => {
    expect(await call('alma', 'POST', '/api/requests', request(id, 'web'))).toMatchObject({ status: 400 });
  });

  test.each(['null', 'undefined'])('%s is judged like others where it exists', async (id) => {
    await app.sql(
      `INSERT INTO request (id, request_type, state, changed_at, document) VALUES ($1, 'SERVICE', 'ACTIVE', now(), $2)`,
      [id, JSON.stringify(request(id, 'web'))],
    );
    const path = `/api/requests/request/${id}`;
    expect(await status('ann', path)).toBe(200);
    expect(await status('bob', path)).toBe(403);
    expect(await status('bob', `/api/history/request/${id}/requests`)).toBe(403);
    expect(await call('bob', 'DELETE', path)).toMatchObject({ status: 403 });
    expect(await call('bob', 'POST', `${path}/groups`, { group: 'evil' })).toMatchObject({ status: 401 });
    expect(await call('bob', 'POST', '/api/requests', request(id, 'evil'))).toMatchObject({ status: 403 });
    const deploy = { id: 'd1', requestId: id, command: 'true' };
    expect(await call('bob', 'POST', '/api/deploys', { deploy })).toMatchObject({ status: 403 });
    expect(await call('bob', 'POST', '/api/groups', { id: 'g', requestIds: [id] })).toMatchObject({ status: 403 });
    expect(await status('bob', `/api/tasks/task/${taskOf(id, 1)}`)).toBe(403);
    expect(await call('ann', 'POST', '/api/requests', { ...request(id, 'web'), instances: 2 })).toMatchObject({
      status: 200,
    });
  });
});

describe('a call whose request cannot be told', () => {
  test.each([
    ['GET', '/api/tasks/task/nonsense', undefined, 400],
    ['GET', '/api/sandbox/nonsense/browse', undefined, 400],
    ['GET', '/api/tasks/scheduled/task/nonsense', undefined, 400],
    ['GET', '/api/tasks/download?slaveHostname=h&path=/etc/passwd', undefined, 403],
    ['GET', '/api/tasks/open?slaveHostname=h', undefined, 403],
    ['POST', '/api/requests', { requestType: 'SERVICE' }, 400],
    ['POST', '/api/requests', { id: ['a'], requestType: 'SERVICE' }, 400],
    ['POST', '/api/requests', { id: '', requestType: 'SERVICE' }, 400],
    ['POST', '/api/deploys', { deploy: { id: 'd1' } }, 400],
    ['POST', '/api/deploys', {}, 400],
    ['POST', '/api/deploys/plan', { deploy: { requestId: {} } }, 400],
    ['POST', '/api/deploys/update', { deployId: 'd1', targetActiveInstances: 1 }, 400],
    ['POST', '/api/groups', { id: 'g', requestIds: [] }, 403],
  ])('is refused: %s %s %j is %i', async (method, path, body, expected) => {
    expect((await call('bob', method, path, body)).status).toBe(expected);
  });
});

describe('a caller who may not read', () => {
  test('gets one answer whether there is such a request or not, which names no groups of it', async () => {
    await call('ann', 'POST', '/api/requests', { ...request('there', 'web'), readWriteGroups: ['secret-group'] });
    const asks = [
      ['GET', '/api/requests/request/ID'],
      ['GET', '/api/history/request/ID/requests'],
      ['GET', `/api/tasks/task/${taskOf('ID', 1)}`],
      ['DELETE', '/api/requests/request/ID'],
      ['POST', '/api/requests/request/ID/run'],
      ['GET', '/api/auth/ID/auth-check'],
      ['GET', '/api/auth/ID/auth-check/ann?scope=WRITE'],
      ['POST', '/api/deploys', { deploy: { id: 'd1', requestId: 'ID', command: 'true' } }],
    ] as const;
    for (const [method, path, body] of asks) {
      const ask = async (id: string) => {
        const sent = body && (JSON.parse(JSON.stringify(body).replaceAll('ID', id)) as unknown);
        const answer = await call('bob', method, path.replaceAll('ID', id), sent);
        const text = JSON.stringify({ ...answer.body, requestId: undefined, path: undefined });
        return { status: answer.status, text: text.replaceAll(id, 'ID') };
      };
      const there = await ask('there');
      expect(there.status, path).toBe(403);
      expect(there.text).not.toMatch(/web|secret-group/);
      expect(await ask('nowhere'), path).toEqual(there);
    }
  });

  test('but may read is told which groups it takes', async () => {
    await call('ann', 'POST', '/api/requests', { ...request('seen', 'web'), readOnlyGroups: ['evil'] });
    const { status: code, body } = await call('bob', 'DELETE', '/api/requests/request/seen');
    expect(code).toBe(403);
    expect(body.message).toBe("'bob' needs one of these groups for WRITE on request 'seen': admins, web");
  });

  test('what does not exist is 404 to administrators', async () => {
    expect(await status('alma', '/api/requests/request/nowhere')).toBe(404);
    expect(await status('alma', `/api/tasks/task/${taskOf('nowhere', 1)}`)).toBe(404);
  });
});

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { PendingRequest } from '../../core/model/task.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';
import { RequestReads } from './request-reads.service.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom();
  await job('job');
});
afterAll(() => room.close());

const run = (id: string, body?: unknown, query = '') =>
  room.call('POST', `/api/requests/request/${id}/run${query}`, body);

async function job(id: string, members = {}, deploy = {}): Promise<void> {
  await room.request(id, { requestType: 'ON_DEMAND', ...members });
  await room.deploy(id, 'd1', deploy);
}

const overrides = {
  objstoreUploaderAdditionalFiles: [],
  envOverrides: {},
  requiredSlaveAttributeOverrides: {},
  allowedSlaveAttributeOverrides: {},
  extraArtifacts: [],
};

describe('a run', () => {
  test('without a body gets an id of its own and is queued', async () => {
    const { status, body } = await run('job');
    expect(status).toBe(200);
    expect(body).toMatchObject({ request: { id: 'job' }, state: 'ACTIVE', activeDeploy: { id: 'd1' } });
    expect(body.taskIds.healthy).toEqual([]);
    expect(body.pendingRequest).toEqual({
      requestId: 'job',
      deployId: 'd1',
      timestamp: room.clock.now(),
      askedAt: room.clock.now(),
      trigger: 'RUN_NOW',
      scheduledAt: room.clock.now(),
      pendingType: 'ONEOFF',
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...overrides,
    });
    expect((await room.call('GET', '/api/requests/queued/pending')).body).toContainEqual(body.pendingRequest);
  });

  test('carries everything it was told', async () => {
    const runAt = room.clock.now() + 86_400_000;
    const asked = {
      message: 'go',
      runId: 'a/b c',
      commandLineArgs: ['--a', 'b'],
      skipHealthchecks: true,
      resources: { cpus: 0.2, memoryMb: 32, numPorts: 1 },
      runAsUserOverride: 'nobody',
      envOverrides: { X: 'Y', N: 1 },
      requiredSlaveAttributeOverrides: { a: 'b' },
      allowedSlaveAttributeOverrides: { c: 'd' },
      extraArtifacts: ['http://files/x'],
      runAt,
    };
    const { body } = await run('job', asked);
    const { commandLineArgs, ...same } = asked;
    expect(body.pendingRequest).toEqual({
      requestId: 'job',
      deployId: 'd1',
      timestamp: room.clock.now(),
      askedAt: room.clock.now(),
      trigger: 'RUN_NOW',
      scheduledAt: runAt,
      pendingType: 'ONEOFF',
      ...overrides,
      ...same,
      cmdLineArgsList: commandLineArgs,
      envOverrides: { X: 'Y', N: '1' },
      resources: { cpus: 0.2, memoryMb: 32, numPorts: 1, diskMb: 0 },
      extraArtifacts: [{ uri: 'http://files/x' }],
    });
  });

  test('answers little when little is asked for', async () => {
    const { body } = await run('job', { runId: 'run2' }, '?minimal=true');
    expect(Object.keys(body).sort()).toEqual(['pendingRequest', 'request', 'state']);
  });

  test('may have an id that was used before, and a time gone by', async () => {
    await job('again');
    expect((await run('again', { runId: 'same' })).status).toBe(200);
    expect((await run('again', { runId: 'same', runAt: 1 })).body.pendingRequest.runAt).toBe(1);
    expect(await room.pending('again')).toHaveLength(2);
  });

  test('the very same one twice in one millisecond is 409', async () => {
    await job('same');
    await run('same', { runId: 'r' });
    room.clock.millis -= 10;
    expect(await run('same', { runId: 'r' })).toRefuse(409, 'ALREADY_PENDING');
  });

  test('of a cron job starts at once, but not beside a running task', async () => {
    await room.request('cron', { requestType: 'SCHEDULED', schedule: '0 4 * * *' });
    await room.deploy('cron');
    expect((await run('cron')).body.pendingRequest.pendingType).toBe('IMMEDIATE');
    await room.task('cron', 1);
    expect(await run('cron')).toRefuse(409, 'TASK_RUNNING');
  });

  test('counts running and waiting ones against the instances', async () => {
    await job('few', { instances: 2 });
    await room.task('few', 1);
    expect((await run('few')).status).toBe(200);
    expect(await run('few')).toRefuse(429, 'TOO_MANY_RUNS');
    await room.sql(`UPDATE task SET ended_at = now() WHERE request_id = 'few'`);
    expect((await run('few')).status).toBe(200);
  });

  test.each([
    ['a long runId', { runId: 'r'.repeat(101) }, ['runId', 'length']],
    ['an empty runId', { runId: '' }, ['runId', 'length']],
    ['a runId that paths cannot name', { runId: '..' }, ['runId', 'pattern']],
    ['a runId with a control character', { runId: 'a\nb' }, ['runId', 'pattern']],
    ['a time in seconds', { runAt: 1_790_000_000 }, ['runAt', 'min']],
    ['a time 31 days ahead', { runAt: Date.UTC(2026, 1, 16) }, ['runAt', 'max']],
    ['arguments that are no list', { commandLineArgs: 'a' }, ['commandLineArgs', 'type']],
    ['a reserved variable', { envOverrides: { STARTED_BY_USER: 'x' } }, ['envOverrides.STARTED_BY_USER', 'reserved']],
    ['a reserved word in an argument', { commandLineArgs: ['$STARTED_BY_USER'] }, ['commandLineArgs', 'reserved']],
    ['a user that no task may be', { runAsUserOverride: 'root' }, ['runAsUserOverride', 'user']],
    ['too many cores', { resources: { cpus: 51, memoryMb: 1, numPorts: 1 } }, ['resources.cpus', 'max']],
    ['cores as text', { resources: { cpus: '1' } }, ['resources.cpus', 'type']],
    [
      'fewer ports than the deploy',
      { resources: { cpus: 1, memoryMb: 1, numPorts: 1 } },
      ['resources.numPorts', 'min'],
    ],
  ])('with %s is 400', async (name, body, [field, rule]) => {
    const id = `bad-${name.replaceAll(' ', '-')}`;
    await job(id, {}, { resources: { cpus: 1, memoryMb: 1, numPorts: 2 } });
    expect(await run(id, body)).toRefuse(400, 'INVALID_REQUEST', { field, rule });
    expect(await room.pending(id)).toEqual([]);
  });

  test.each([
    ['nobody', undefined, 404, 'REQUEST_NOT_FOUND'],
    ['paused', 'ON_DEMAND', 409, 'REQUEST_PAUSED'],
    ['deleting', 'ON_DEMAND', 409, 'REQUEST_BEING_CLEANED'],
    ['deleting-cron', 'SCHEDULED', 409, 'REQUEST_BEING_CLEANED'],
    ['undeployed', 'ON_DEMAND', 409, 'NO_DEPLOY'],
    ['service', 'SERVICE', 400, 'INVALID_REQUEST'],
    ['worker', 'WORKER', 400, 'INVALID_REQUEST'],
    ['once', 'RUN_ONCE', 400, 'INVALID_REQUEST'],
  ])('of %s is refused', async (id, requestType, status, code) => {
    const schedule = requestType === 'SCHEDULED' ? '0 4 * * *' : undefined;
    if (requestType) await room.request(id, { requestType: requestType as 'SERVICE', schedule });
    if (requestType && id !== 'undeployed') await room.deploy(id);
    if (id === 'paused') await room.sql(`UPDATE request SET state = 'PAUSED' WHERE id = 'paused'`);
    if (id.startsWith('deleting')) expect((await room.call('DELETE', `/api/requests/request/${id}`)).status).toBe(200);
    expect(await run(id)).toRefuse(status, code);
  });
});

describe('a run that must have a new run id', () => {
  const strictly = async (id: string, body: unknown) => {
    const { status, body: answer } = await run(id, body, '?newRunId=true');
    return [status, answer.code ?? answer.pendingRequest.runId, answer.message ?? ''];
  };
  const used = (id: string, what: string) => [409, 'RUN_ID_USED', `Request '${id}' has a run 'r1' already: ${what}`];

  test('is 409 with the earlier run, which waits, runs, has ended or is in the history', async () => {
    await job('used');
    expect(await strictly('used', { runId: 'r1' })).toEqual([200, 'r1', '']);
    expect(await strictly('used', { runId: 'r1' })).toEqual(used('used', 'it waits'));
    await room.sql(`DELETE FROM pending_request WHERE request_id = 'used'`);
    const { id } = await room.task('used', 1);
    await room.sql(`UPDATE task SET run_id = 'r1' WHERE task_id = $1`, [id]);
    expect(await strictly('used', { runId: 'r1' })).toEqual(used('used', `task ${id} is TASK_RUNNING`));
    await room.sql(
      `WITH moved AS (DELETE FROM task WHERE task_id = $1 RETURNING *)
       INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at, last_task_status)
       SELECT task_id, request_id, deploy_id, run_id, host, instance_no, started_at, now(), 'TASK_FAILED' FROM moved`,
      [id],
    );
    expect(await strictly('used', { runId: 'r1' })).toEqual(used('used', `task ${id} ended as TASK_FAILED`));
    expect(await strictly('used', { runId: 'r2' })).toEqual([200, 'r2', '']);
    expect((await run('used', { runId: 'r1' })).status).toBe(200);
  });

  test('is told of the earlier run also where no other could begin now', async () => {
    await job('resting');
    await run('resting', { runId: 'r1' });
    await room.sql(`UPDATE request SET state = 'PAUSED' WHERE id = 'resting'`);
    expect(await strictly('resting', { runId: 'r1' })).toEqual(used('resting', 'it waits'));
    expect((await strictly('resting', { runId: 'r2' })).slice(0, 2)).toEqual([409, 'REQUEST_PAUSED']);
  });

  test('is one of those that are asked for at the same time', async () => {
    await job('race');
    const answers = await Promise.all(Array.from({ length: 6 }, () => strictly('race', { runId: 'r1' })));
    expect(answers.map(([status]) => status).toSorted()).toEqual([200, 409, 409, 409, 409, 409]);
    expect(await room.pending('race')).toHaveLength(1);
  });

  test('is not told of what a former request of the id ran', async () => {
    await job('reborn');
    const { id } = await room.task('reborn', 1);
    await room.sql(`UPDATE task SET run_id = 'r1' WHERE task_id = $1`, [id]);
    room.clock.millis += 1_000;
    await room.sql(
      `INSERT INTO request_history (request_id, created_at, event_type, request)
       SELECT id, $1, 'DELETED', document FROM request WHERE id = 'reborn'`,
      [new Date(room.clock.now())],
    );
    expect(await strictly('reborn', { runId: 'r1' })).toEqual([200, 'r1', '']);
  });
});

describe('the task of a run', () => {
  test('is found while it runs, when it has ended and when it has moved to the history', async () => {
    await job('found');
    const first = await room.task('found', 1);
    await room.sql(`UPDATE task SET run_id = 'r1' WHERE task_id = $1`, [first.id]);
    const path = '/api/requests/request/found/run/r1';
    expect((await room.call('GET', path)).body).toEqual(first);
    await room.sql(`UPDATE task SET ended_at = now() WHERE task_id = $1`, [first.id]);
    expect((await room.call('GET', path)).body.id).toBe(first.id);
    await room.sql(
      `WITH moved AS (DELETE FROM task WHERE task_id = $1 RETURNING *)
       INSERT INTO task_history (task_id, request_id, deploy_id, run_id, host, instance_no, started_at, updated_at, last_task_status)
       SELECT task_id, request_id, deploy_id, run_id, host, instance_no, started_at, ended_at, 'TASK_FINISHED' FROM moved`,
      [first.id],
    );
    expect((await room.call('GET', path)).body).toEqual(first);
    room.clock.millis += 1000;
    const second = await room.task('found', 1);
    await room.sql(`UPDATE task SET run_id = 'r1' WHERE task_id = $1`, [second.id]);
    expect((await room.call('GET', path)).body.id).toBe(second.id);
  });

  test('is 404 when there is none', async () => {
    expect(await room.call('GET', '/api/requests/request/job/run/nope')).toRefuse(404, 'RUN_NOT_FOUND');
  });
});

test('many runs at once never exceed the instances', async () => {
  await job('crowd', { instances: 3 });
  const answers = await Promise.all(Array.from({ length: 10 }, () => run('crowd')));
  const accepted = answers.filter(({ status }) => status === 200).length;
  expect([accepted, (await room.pending('crowd')).length]).toEqual([3, 3]);
});

describe('runs that are asked for at the same time', () => {
  test('are queued once each, those with one runId too, and each answer is about its own', async () => {
    await job('busy');
    const ids = ['a', 'b', 'c', 'same', 'same', undefined, undefined];
    const answers = await Promise.all(
      ids.map((runId, index) => run('busy', runId === undefined ? {} : { runId }, index % 2 ? '?minimal=true' : '')),
    );
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 200));
    expect(answers.map(({ body }) => body.pendingRequest.runId)).toEqual(ids.map((id) => id ?? expect.any(String)));
    expect(answers.map(({ body }) => 'activeDeploy' in body)).toEqual(ids.map((_, index) => index % 2 === 0));
    const { body: queue } = await room.call('GET', '/api/requests/queued/pending');
    const queued = (queue as unknown as PendingRequest[]).filter(({ requestId }) => requestId === 'busy');
    expect(new Set(queued.map(({ timestamp, runId }) => `${timestamp}/${runId}`)).size).toBe(ids.length);
  });

  test('share a read of what goes on around the request', async () => {
    await job('asked');
    const read = vi.spyOn(room.app.get(RequestReads), 'find');
    const answers = await Promise.all(Array.from({ length: 20 }, () => run('asked')));
    expect(answers.map(({ body }) => body.activeDeploy?.id)).toEqual(Array.from({ length: 20 }, () => 'd1'));
    expect(read.mock.calls.length).toBeLessThan(20);
    read.mockRestore();
  });

  test('are no more together than the request may have', async () => {
    await job('limited', { instances: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => run('limited')));
    const codes = answers.map(({ body }) => body.code);
    expect(codes.filter((code) => code === undefined)).toHaveLength(3);
    expect(codes.filter((code) => code === 'TOO_MANY_RUNS')).toHaveLength(9);
  });

  test('are refused together where there is no such request', async () => {
    const answers = await Promise.all([run('none'), run('none'), run('none')]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  });
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lockAwaited } from '../../../test/support/lock-waits.js';
import { openRequestsRoom, type RequestsRoom } from '../../../test/support/requests-room.js';
import { watchStatements } from '../../../test/support/sent-statements.js';
import { Database } from '../../platform/database/database.js';

let room: RequestsRoom;
beforeAll(async () => {
  room = await openRequestsRoom({ loadBalancerUri: 'http://127.0.0.1:9' });
});
afterAll(() => room.close());

const save = (body: unknown) => room.call('POST', '/api/requests', body);
const noTasks = { healthy: [], notYetHealthy: [], pending: [], cleaning: [], loadBalanced: [], killed: [] };

describe('creating', () => {
  test.each([
    ['a bare service', { requestType: 'SERVICE' }, {}],
    [
      'a cron schedule gets its Quartz form',
      { requestType: 'SCHEDULED', schedule: '*/5 * * * *' },
      { quartzSchedule: '0 */5 * * * ?' },
    ],
    ['Sunday is 0', { requestType: 'SCHEDULED', schedule: '0 3 * * 0' }, { quartzSchedule: '0 0 3 ? * SUN' }],
    ['Sunday is 7', { requestType: 'SCHEDULED', schedule: '0 3 * * 7' }, { quartzSchedule: '0 0 3 ? * SUN' }],
    [
      'a Quartz schedule by its type',
      { requestType: 'SCHEDULED', schedule: '0 0 12 * * ?', scheduleType: 'QUARTZ' },
      { quartzSchedule: '0 0 12 * * ?' },
    ],
    [
      'a rule of RFC 5545',
      {
        requestType: 'SCHEDULED',
        schedule: 'DTSTART=20260101T040000 RRULE:FREQ=DAILY',
        scheduleType: 'RFC5545',
        scheduleTimeZone: 'Europe/Paris',
      },
      {},
    ],
    ['both forms', { requestType: 'SCHEDULED', schedule: '*/5 * * * *', quartzSchedule: '0 */5 * * * ?' }, {}],
    ['instances of an on-demand job', { requestType: 'ON_DEMAND', instances: 2 }, {}],
    ['one instance of a run-once job', { requestType: 'RUN_ONCE', instances: 1 }, {}],
    ['a load-balanced worker', { requestType: 'WORKER', loadBalanced: true }, {}],
    ['more instances than racks', { requestType: 'SERVICE', instances: 3, rackSensitive: true }, {}],
    [
      'everything about a cron job',
      {
        requestType: 'SCHEDULED',
        schedule: '0 4 * * *',
        owners: ['a@b.c', 'a@b.c'],
        numRetriesOnFailure: 2,
        killOldNonLongRunningTasksAfterMillis: 1000,
        taskExecutionTimeLimitMillis: 100_000,
        waitAtLeastMillisAfterTaskFinishesForReschedule: 1000,
        scheduledExpectedRuntimeMillis: 5,
        scheduleTimeZone: 'US/Eastern',
      },
      { quartzSchedule: '0 0 4 * * ?' },
    ],
    [
      'everything about a service',
      {
        requestType: 'SERVICE',
        rackAffinity: ['r1'],
        slavePlacement: 'OPTIMISTIC',
        requiredSlaveAttributes: { ssd: 'true' },
        allowedSlaveAttributes: { gpu: 'yes' },
        slaveAttributeMinimums: { zone: { a: 50 } },
        group: 'g',
        readWriteGroups: ['w'],
        readOnlyGroups: ['r'],
        bounceAfterScale: true,
        skipHealthchecks: false,
        emailConfigurationOverrides: { TASK_FAILED: ['OWNERS', 'ADMINS'] },
        taskLogErrorRegex: '^E',
        taskLogErrorRegexCaseSensitive: true,
        taskPriorityLevel: 0.5,
        allowBounceToSameHost: true,
        dataCenter: 'dc',
        hideEvenNumberAcrossRacksHint: true,
      },
      {},
    ],
  ])('%s is stored as it was sent', async (name, members, derived) => {
    const id = name.replaceAll(/[^a-zA-Z0-9]/g, '_');
    const { status, body } = await save({ id, ...members });
    const expected = { request: { id, ...members, ...derived }, state: 'ACTIVE', taskIds: noTasks };
    const answered = (parent: typeof body) => ({ ...parent, nextRuns: undefined });
    expect({ status, body: answered(body) }).toEqual({ status: 200, body: expected });
    const read = (await room.call('GET', `/api/requests/request/${id}`)).body;
    expect(answered(read)).toEqual(expected);
    const isScheduled = body.request.requestType === 'SCHEDULED';
    for (const { nextRuns } of [body, read]) expect(nextRuns !== undefined).toBe(isScheduled);
    expect(await room.history(id)).toEqual([['CREATED', null, null]]);
    expect(await room.pending(id)).toEqual([]);
  });

  test.each([
    [
      'numbers in maps are text',
      { requiredSlaveAttributes: { a: 1, b: true } },
      { requiredSlaveAttributes: { a: '1', b: 'true' } },
    ],
    ['unknown members are ignored', { bogus: 1 }, {}],
    ['null is absence', { instances: null }, {}],
    [
      'agents are slaves',
      { agentPlacement: 'GREEDY', requiredAgentAttributes: { a: 'b' } },
      { slavePlacement: 'GREEDY', requiredSlaveAttributes: { a: 'b' } },
    ],
    ['an older name of the hint', { hideEvenNumberAcrossRacks: true }, { hideEvenNumberAcrossRacksHint: true }],
  ])('%s', async (name, sent, stored) => {
    const id = name.replaceAll(/[^a-zA-Z0-9]/g, '-');
    const { body } = await save({ id, requestType: 'SERVICE', ...sent });
    expect(body.request).toEqual({ id, requestType: 'SERVICE', ...stored });
  });

  test.each([
    [{ daemon: true }, 'WORKER'],
    [{ daemon: true, loadBalanced: true }, 'SERVICE'],
    [{ daemon: false }, 'ON_DEMAND'],
    [{ daemon: true, schedule: '* * * * *' }, 'SCHEDULED'],
  ])('very old clients say %j', async (members, requestType) => {
    const { body } = await save({ id: `old-${requestType}`, ...members });
    expect(body.request.requestType).toBe(requestType);
    expect(body.request).not.toHaveProperty('daemon');
  });

  test('an id may have 100 characters', async () => {
    expect((await save({ id: 'x'.repeat(100), requestType: 'SERVICE' })).status).toBe(200);
  });

  test('two who create the same request at once both get it, and it exists once', async () => {
    const sent = { id: 'twice', requestType: 'SERVICE' };
    const answers = await Promise.all([1, 2, 3, 4].map(() => save(sent)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const events = (await room.history('twice')).map(([type]) => type).sort();
    expect(events).toEqual(['CREATED', 'UPDATED', 'UPDATED', 'UPDATED']);
  });

  test('is five statements, two of which wait for no other', async () => {
    await save({ id: 'counted-before', requestType: 'SERVICE' });
    const statements = watchStatements();
    await save({ id: 'counted', requestType: 'SERVICE' });
    const sent = statements.sent().map(({ sql }) => /\w+/.exec(sql)![0]);
    statements.end();
    expect(sent).toEqual(['START', 'SELECT', 'SELECT', 'WITH', 'COMMIT']);
  });

  test('is told to streams and webhooks with the time that the history says, after all that was before', async () => {
    const later = room.clock.now() + 60_000;
    await room.sql(
      `INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ('again', $1, 'DELETED', '{}')`,
      [new Date(later)],
    );
    await room.sql(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('REQUEST-x', 'http://127.0.0.1:9/', 'REQUEST', now())`,
    );
    expect((await save({ id: 'again', requestType: 'SERVICE' })).status).toBe(200);
    expect(await room.history('again')).toEqual([
      ['CREATED', null, null],
      ['DELETED', null, null],
    ]);
    const [event] = await room.sql(`SELECT events FROM live_event WHERE events LIKE '%"again"%'`);
    expect(JSON.parse(String(event!['events']))).toMatchObject([
      { type: 'REQUEST', at: later + 1, requestId: 'again', eventType: 'CREATED' },
    ]);
    expect(await room.sql(`SELECT body FROM webhook_update WHERE subject_id = 'again'`)).toMatchObject([
      { body: { eventType: 'CREATED', createdAt: later + 1, request: { id: 'again' } } },
    ]);
    await room.sql('DELETE FROM webhook');
  });

  test('does not fail because of a webhook that is being deleted', async () => {
    await room.sql(
      `INSERT INTO webhook (id, uri, webhook_type, created_at) VALUES ('REQUEST-y', 'http://127.0.0.1:9/', 'REQUEST', now())`,
    );
    let saved: ReturnType<typeof save> | undefined;
    const { pool } = room.app.get(Database);
    await pool.transaction(async (tx) => {
      await tx.query('DELETE FROM webhook');
      saved = save({ id: 'meanwhile', requestType: 'SERVICE' });
      await Promise.race([saved, lockAwaited(pool)]);
    });
    expect((await saved!).status).toBe(200);
  });

  test('is refused while it is switched off, and leaves nothing', async () => {
    await room.sql(
      `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('CREATE_REQUEST', 'month end', false)`,
    );
    const answer = await save({ id: 'off', requestType: 'SERVICE' });
    await room.sql(`UPDATE disabled_action SET expires_at = to_timestamp($1 / 1000.0)`, [room.clock.now()]);
    expect(answer).toRefuse(409, 'ACTION_DISABLED', { message: 'month end' });
    expect(await room.sql(`SELECT 1 FROM request_history WHERE request_id = 'off'`)).toEqual([]);
    expect((await save({ id: 'off', requestType: 'SERVICE' })).status).toBe(200);
    await room.sql('DELETE FROM disabled_action');
  });
});

describe('bad input', () => {
  const ok = { id: 'bad', requestType: 'SERVICE' };
  const job = { id: 'bad', requestType: 'SCHEDULED', schedule: '* * * * *' };
  test.each([
    ['no body', undefined, [['id', 'required']]],
    ['an empty object', {}, [['id', 'required']]],
    ['an empty id', { ...ok, id: '' }, [['id', 'required']]],
    ['no type', { id: 'bad' }, [['requestType', 'required']]],
    ['a type of null', { ...ok, requestType: null }, [['requestType', 'required']]],
    ['a space in the id', { ...ok, id: 'a b' }, [['id', 'pattern']]],
    ['a dot in the id', { ...ok, id: 'a.b' }, [['id', 'pattern']]],
    ['a letter with an accent in the id', { ...ok, id: 'é' }, [['id', 'pattern']]],
    ['an id of 101 characters', { ...ok, id: 'x'.repeat(101) }, [['id', 'length']]],
    ['a number as id', { ...ok, id: 123 }, [['id', 'type']]],
    ['a reserved id', { ...ok, id: 'batch' }, [['id', 'reserved']]],
    ['a type in small letters', { ...ok, requestType: 'service' }, [['requestType', 'oneOf']]],
    ['a number as type', { ...ok, requestType: 0 }, [['requestType', 'oneOf']]],
    ['0 instances', { ...ok, instances: 0 }, [['instances', 'min']]],
    ['-1 instances', { ...ok, instances: -1 }, [['instances', 'min']]],
    ['26 instances', { ...ok, instances: 26 }, [['instances', 'max']]],
    ['26 runs', { id: 'bad', requestType: 'ON_DEMAND', instances: 26 }, [['instances', 'max']]],
    ['instances as text', { ...ok, instances: '2' }, [['instances', 'integer']]],
    ['2.7 instances', { ...ok, instances: 2.7 }, [['instances', 'integer']]],
    ['2 instances of a cron job', { ...job, instances: 2 }, [['instances', 'single']]],
    ['no schedule', { id: 'bad', requestType: 'SCHEDULED' }, [['schedule', 'required']]],
    ['no cron expression', { ...job, schedule: 'hello world' }, [['schedule', 'cron']]],
    ['minute 61', { ...job, schedule: '61 * * * *' }, [['schedule', 'cron']]],
    ['a cron expression of 4 fields', { ...job, schedule: '* * * *' }, [['schedule', 'cron']]],
    [
      'no Quartz expression',
      { id: 'bad', requestType: 'SCHEDULED', quartzSchedule: 'x' },
      [['quartzSchedule', 'quartz']],
    ],
    ['no RFC 5545 rule', { ...job, schedule: 'INTERVAL=2', scheduleType: 'RFC5545' }, [['schedule', 'rfc5545']]],
    ['a rule that is none', { ...job, schedule: '0 4 * * *', scheduleType: 'RFC5545' }, [['schedule', 'rfc5545']]],
    ['a zone that is none', { ...job, scheduleTimeZone: 'Mars/Base' }, [['scheduleTimeZone', 'timeZone']]],
    ['a zone that is none on a service', { ...ok, scheduleTimeZone: 'Mars/Base' }, [['scheduleTimeZone', 'timeZone']]],
    [
      'a schedule on a service',
      { ...ok, schedule: '* * * * *', quartzSchedule: '0 * * * * ?', scheduleType: 'CRON' },
      [
        ['schedule', 'notAllowed'],
        ['quartzSchedule', 'notAllowed'],
        ['scheduleType', 'notAllowed'],
      ],
    ],
    [
      'a schedule on a run-once job',
      { id: 'bad', requestType: 'RUN_ONCE', schedule: '* * * * *' },
      [['schedule', 'notAllowed']],
    ],
    ['a load-balanced cron job', { ...job, loadBalanced: true }, [['loadBalanced', 'notAllowed']]],
    ['a cron job spread over racks', { ...job, rackSensitive: true }, [['rackSensitive', 'notAllowed']]],
    [
      'limits of runs on a service',
      { ...ok, numRetriesOnFailure: 1, killOldNonLongRunningTasksAfterMillis: 1, taskExecutionTimeLimitMillis: 1 },
      [
        ['numRetriesOnFailure', 'notAllowed'],
        ['killOldNonLongRunningTasksAfterMillis', 'notAllowed'],
        ['taskExecutionTimeLimitMillis', 'notAllowed'],
      ],
    ],
    ['a negative time limit', { ...job, taskExecutionTimeLimitMillis: -1 }, [['taskExecutionTimeLimitMillis', 'min']]],
    ['a placement that is none', { ...ok, slavePlacement: 'FOO' }, [['slavePlacement', 'oneOf']]],
    [
      'a placement that is not enabled',
      { ...ok, slavePlacement: 'SPREAD_ALL_SLAVES' },
      [['slavePlacement', 'supported']],
    ],
    ['priority 2', { ...ok, taskPriorityLevel: 2 }, [['taskPriorityLevel', 'max']]],
    ['priority below 0', { ...ok, taskPriorityLevel: -0.1 }, [['taskPriorityLevel', 'min']]],
    ['maxTasksPerOffer 0', { ...ok, maxTasksPerOffer: 0 }, [['maxTasksPerOffer', 'min']]],
    ['a role', { ...ok, requiredRole: 'web' }, [['requiredRole', 'supported']]],
    ['a schedule as long as a body', { ...job, schedule: '1-59/1,'.repeat(250_000) }, [['schedule', 'length']]],
    ['1,001 characters of schedule', { ...job, schedule: `0 0 * * ${'1,'.repeat(496)}1` }, [['schedule', 'length']]],
    ['owners as text', { ...ok, owners: 'a@b' }, [['owners', 'type']]],
    ['null among the owners', { ...ok, owners: [null] }, [['owners', 'type']]],
    ['a boolean as text', { ...ok, rackSensitive: 'true' }, [['rackSensitive', 'type']]],
    ['a list for a map', { ...ok, requiredSlaveAttributes: [] }, [['requiredSlaveAttributes', 'textMap']]],
    [
      'a fraction as percentage',
      { ...ok, slaveAttributeMinimums: { a: { b: 1.5 } } },
      [['slaveAttributeMinimums', 'type']],
    ],
    ['101 percent', { ...ok, slaveAttributeMinimums: { a: { b: 101 } } }, [['slaveAttributeMinimums.a.b', 'max']]],
    [
      'a recipient that is none',
      { ...ok, emailConfigurationOverrides: { TASK_FAILED: ['EVERYBODY'] } },
      [['emailConfigurationOverrides', 'oneOf']],
    ],
    [
      'several things at once',
      { id: 'a b', requestType: 'SCHEDULED', instances: 2, schedule: 'x' },
      [
        ['id', 'pattern'],
        ['instances', 'single'],
        ['schedule', 'cron'],
      ],
    ],
  ])('%s is 400 with field and rule', async (_name, body, errors) => {
    const answer = await save(body);
    expect(answer).toRefuse(400, 'INVALID_REQUEST');
    expect(answer.body.errors.map((error) => [error.field, error.rule])).toEqual(errors);
    for (const error of answer.body.errors) expect(error.message).toContain(error.field);
    expect(await room.sql(`SELECT 1 FROM request WHERE id IN ('bad', 'a b')`)).toEqual([]);
  });

  test('tasks that are kept apart need a machine each', async () => {
    const answer = await save({
      id: 'apart',
      requestType: 'SERVICE',
      instances: 2,
      slavePlacement: 'SEPARATE',
    });
    expect(answer).toRefuse(400, 'INVALID_REQUEST', { field: 'instances', rule: 'capacity' });
  });
});

describe('updating', () => {
  test('replaces the whole request: what is left out is cleared', async () => {
    await room.request('whole', { instances: 2, owners: ['x@y.z'] });
    const { body } = await save({ id: 'whole', requestType: 'WORKER' });
    expect(body.request).toEqual({ id: 'whole', requestType: 'WORKER' });
    expect(await room.history('whole')).toEqual([
      ['UPDATED', null, null],
      ['CREATED', null, null],
    ]);
  });

  test.each([
    [
      'a type that cannot change',
      { requestType: 'SERVICE' },
      { requestType: 'ON_DEMAND' },
      [['requestType', 'unchanged']],
    ],
    [
      'the type of a load-balanced service',
      { requestType: 'SERVICE', loadBalanced: true },
      { requestType: 'WORKER', loadBalanced: true },
      [['requestType', 'unchanged']],
    ],
    [
      'load balancing',
      { requestType: 'SERVICE' },
      { requestType: 'SERVICE', loadBalanced: true },
      [['loadBalanced', 'unchanged']],
    ],
  ])('%s is refused', async (name, before, after, errors) => {
    const id = name.replaceAll(' ', '-');
    await save({ id, ...before });
    const answer = await save({ id, ...after });
    expect(answer).toRefuse(400, 'INVALID_REQUEST');
    expect(answer.body.errors.map((error) => [error.field, error.rule])).toEqual(errors);
  });

  test('fewer instances end the tasks with higher numbers, and the scheduler is told', async () => {
    await room.request('shrinking', { instances: 3 });
    await room.deploy('shrinking');
    for (const number of [1, 2, 3]) await room.task('shrinking', number);
    const { body } = await save({ id: 'shrinking', requestType: 'SERVICE', instances: 1 });
    expect(body.taskIds.cleaning.map((task) => task.instanceNo)).toEqual([2, 3]);
    expect(body.taskIds.healthy.length + body.taskIds.notYetHealthy.length).toBe(1);
    const cleanups = await room.sql('SELECT * FROM task_cleanup WHERE request_id = $1', ['shrinking']);
    expect(cleanups.map((row) => [row.cleanup_type, row.user_name])).toEqual([
      ['SCALING_DOWN', 'scheduler'],
      ['SCALING_DOWN', 'scheduler'],
    ]);
    expect(await room.pending('shrinking')).toMatchObject([{ pendingType: 'UPDATED_REQUEST', deployId: 'd1' }]);
  });

  test('the scheduler is left alone when neither instances nor schedule change', async () => {
    await room.request('same');
    await room.deploy('same');
    await save({ id: 'same', requestType: 'SERVICE', owners: ['a'], instances: 1 });
    expect(await room.pending('same')).toEqual([]);
  });

  test('the scheduler plans anew when the schedule changes, its zone or its kind', async () => {
    const job = { id: 'zone', requestType: 'SCHEDULED', schedule: '0 4 * * *' };
    await save(job);
    await room.deploy('zone');
    await save({ ...job, scheduleTimeZone: 'Europe/Berlin' });
    expect(await room.pending('zone')).toMatchObject([{ pendingType: 'UPDATED_REQUEST' }]);
    await room.sql('TRUNCATE pending_request');
    await save({ ...job, scheduleTimeZone: 'Europe/Berlin' });
    expect(await room.pending('zone')).toEqual([]);
    await save({ ...job, schedule: '0 5 * * *' });
    expect(await room.pending('zone')).toMatchObject([{ pendingType: 'UPDATED_REQUEST' }]);
  });

  test('a Quartz expression that comes back as it was derived gives way to a new schedule', async () => {
    const { body } = await save({ id: 'sent-back', requestType: 'SCHEDULED', schedule: '0 4 * * *' });
    const changed = await save({ ...body.request, schedule: '0 5 * * *' });
    expect(changed.body.request.quartzSchedule).toBe('0 0 5 * * ?');
    const other = await save({ ...changed.body.request, schedule: 'FREQ=DAILY', scheduleType: 'RFC5545' });
    expect(other.body.request).toMatchObject({ schedule: 'FREQ=DAILY', scheduleType: 'RFC5545' });
    expect(other.body.request).not.toHaveProperty('quartzSchedule');
  });

  test('a finished request wakes up with a new schedule, and not without', async () => {
    const job = { id: 'done', requestType: 'SCHEDULED', schedule: '0 4 * * *' };
    await save(job);
    await room.sql(`UPDATE request SET state = 'FINISHED' WHERE id = 'done'`);
    expect((await save({ ...job, owners: ['a'] })).body.state).toBe('FINISHED');
    expect((await save({ ...job, schedule: '0 5 * * *' })).body.state).toBe('ACTIVE');
  });

  test('its deploy must fit the new number of instances', async () => {
    await room.request('big', { instances: 1 });
    await room.deploy('big', 'd1', { resources: { cpus: 50, memoryMb: 64 } });
    const answer = await save({ id: 'big', requestType: 'SERVICE', instances: 20 });
    expect(answer).toRefuse(400, 'INVALID_REQUEST', { field: 'instances', message: expect.stringContaining('900') });
  });

  test('an order that waits for the cleaner, or a deploy that brings its own request, stands in the way', async () => {
    await room.request('waiting');
    await room.deploy('waiting');
    await room.call('POST', '/api/requests/request/waiting/pause');
    const cleaning = await save({ id: 'waiting', requestType: 'SERVICE', instances: 2 });
    expect(cleaning).toRefuse(409, 'REQUEST_BEING_CLEANED');

    await room.request('changing');
    await room.sql(
      `INSERT INTO pending_deploy (request_id, deploy_id, state, updated_request) VALUES ('changing', 'd1', 'WAITING', '{}')`,
    );
    const deploying = await save({ id: 'changing', requestType: 'SERVICE', instances: 2 });
    expect(deploying).toRefuse(409, 'DEPLOY_IN_PROGRESS');
  });

  test('turning health checks off makes the running tasks healthy', async () => {
    await room.request('checked');
    await room.deploy('checked', 'd1', { healthcheck: { uri: '/health' } });
    const task = await room.task('checked', 1);
    const before = await room.call('GET', '/api/requests/request/checked');
    expect(before.body.taskIds.notYetHealthy).toHaveLength(1);
    room.clock.millis += 10_000; // without checks, a task has to run for a while
    const { body } = await save({ id: 'checked', requestType: 'SERVICE', skipHealthchecks: true });
    expect(body.taskIds.healthy).toHaveLength(1);
    const results = await room.sql('SELECT * FROM task_healthcheck WHERE task_id = $1', [task.id]);
    expect(results).toMatchObject([{ status_code: 200, startup: false }]);
    expect(results[0]?.['response_body']).toContain('scheduler');
  });
});

describe('groups', () => {
  test('are replaced together', async () => {
    await room.request('grouped', { group: 'old', readWriteGroups: ['w'] });
    const { status, body } = await room.call('POST', '/api/requests/request/grouped/groups', {
      group: 'g',
      message: 'm',
    });
    expect(status).toBe(200);
    expect(body.request).toEqual({
      id: 'grouped',
      requestType: 'SERVICE',
      group: 'g',
      readWriteGroups: [],
      readOnlyGroups: [],
    });
    expect((await room.history('grouped'))[0]).toEqual(['UPDATED', null, 'm']);
    expect(await room.call('POST', '/api/requests/request/nobody/groups', { group: 'g' })).toRefuse(
      404,
      'REQUEST_NOT_FOUND',
    );
  });
});

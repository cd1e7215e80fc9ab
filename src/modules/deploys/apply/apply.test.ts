import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertRequest } from '../../../../test/support/builders.js';
import { FileDriver } from '../../../../test/support/file-driver.js';
import { startRooms, type RoomApp } from '../../../../test/support/room-app.js';
import type { FieldError } from '../../../core/field-error.js';
import type { Queryable } from '../../../platform/database/queryable.js';
import { Leadership } from '../../../platform/leadership/leadership.js';
import { DeploysModule } from '../deploys.module.js';
import type { AppliedDto } from './apply.dto.js';

let rooms: RoomApp;
let tx: Queryable;
beforeAll(async () => {
  const refusedUser = (user: string) => Promise.resolve(user === 'gone' ? "no user 'gone' on this machine" : undefined);
  rooms = await startRooms({ modules: [DeploysModule], driver: Object.assign(new FileDriver(), { refusedUser }) });
  tx = rooms.database.pool;
  // No instance leads: deploys stay as the API left them.
  rooms.app.get(Leadership).stepDown('this test is about the API');
});
afterAll(() => rooms.close());
const tables = ['request', 'request_history', 'deploy_history', 'pending_deploy', 'pending_request', 'disabled_action'];
beforeEach(() => tx.query(`TRUNCATE ${tables.join(', ')}`));

type Body = AppliedDto & { code: string; message: string; errors: FieldError[] };
const apply = (body: object, query = '') => rooms.call<Body>('POST', `/api/requests/apply${query}`, body);
const request = { id: 'web', requestType: 'SERVICE' as const, instances: 2 };
const deploy = { requestId: 'web', command: 'serve', env: { COLOUR: 'red' } };
/** All that an apply may write. */
const written = async (): Promise<unknown[]> => {
  const counts = tables.map((table) => `(SELECT json_agg(t ORDER BY t::text)::text FROM ${table} t) AS ${table}`);
  return tx.query(`SELECT ${counts.join(', ')}`);
};
const requests = () => tx.query('SELECT id FROM request');
/** The deploy has succeeded. */
const finish = (deployId: string) =>
  tx.query(
    `WITH ended AS (DELETE FROM pending_deploy)
     UPDATE request SET active_deploy_id = $1, pending_deploy_id = NULL`,
    [deployId],
  );

test('makes both, and says that they are as they are to be from then on', async () => {
  const first = await apply({ request, deploy });
  expect(first.status).toBe(200);
  const { deployId } = first.body;
  const notes = ['deploy.resources is left out: 1 core, 64 MB by default'];
  expect(first.body).toEqual({ requestId: 'web', request: 'CREATED', deploy: 'STARTED', deployId, changes: [], notes });
  expect(deployId).toMatch(/^[0-9a-f]{12}$/);
  const before = await written();
  const under = { requestId: 'web', request: 'UNCHANGED', deployId, changes: [], notes: [] };
  expect((await apply({ request, deploy })).body).toEqual({ ...under, deploy: 'IN_PROGRESS' });
  await finish(deployId!);
  expect((await apply({ request, deploy })).body).toEqual({ ...under, deploy: 'UNCHANGED' });
  expect((await apply({ deploy: { ...deploy, id: 'mine' } })).body).toMatchObject({ deploy: 'UNCHANGED', deployId });
  await tx.query(`UPDATE request SET active_deploy_id = NULL, pending_deploy_id = $1`, [deployId]);
  expect((await written())[0]).toMatchObject({
    request_history: (before[0] as Record<string, unknown>)['request_history'],
  });
});

test('changes what differs, and names it', async () => {
  const first = (await apply({ request, deploy })).body.deployId!;
  await finish(first);
  const blue = { ...deploy, env: { COLOUR: 'blue' } };
  const changed = (await apply({ request: { ...request, instances: 3 }, deploy: blue })).body;
  expect(changed).toMatchObject({ request: 'CHANGED', deploy: 'STARTED' });
  expect(changed.changes).toEqual(['request.instances', 'deploy.env.COLOUR']);
  await finish(changed.deployId!);
  // Deployed once, and wanted again.
  expect((await apply({ deploy })).body).toMatchObject({ deploy: 'STARTED', deployId: `${first}.2` });
});

test.each(['0 * * * *', '*/5 * * * *'])(
  'warns of an offset that is longer than the time between runs: %s',
  async (schedule) => {
    const job = { id: 'job', requestType: 'SCHEDULED', schedule, scheduleJitterMillis: 3_600_000 };
    const tooLong = expect.stringMatching(/scheduleJitterMillis 3600000 is longer than the 300000 ms/);
    const warnings = schedule.startsWith('0') ? [null, null] : [tooLong, tooLong];
    const answers = [await apply({ request: job }), await apply({ request: job })];
    expect(answers.map(({ body }) => body.request)).toEqual(['CREATED', 'UNCHANGED']);
    expect(answers.map(({ headers }) => headers.get('warning'))).toEqual(warnings);
  },
);

describe('leaves nothing behind', () => {
  test.each([
    ['a deploy that asks for too much', { resources: { cpus: 1_000, memoryMb: 1 } }, 'deploy.resources.cpus'],
    ['a deploy that cannot be run', { user: 'gone' }, 'deploy.user'],
    ['a deploy without a command', { command: undefined, cmd: undefined }, undefined],
  ])('of a new request when it is refused for %s', async (_name, members, field) => {
    const { status, body } = await apply({ request, deploy: { ...deploy, ...members } });
    expect([status, body.code]).toEqual([400, 'INVALID_DEPLOY']);
    if (field !== undefined) expect(body.errors[0]?.field.replace(/^(?!deploy\.)/, 'deploy.')).toBe(field);
    expect(await requests()).toEqual([]);
  });

  test('of a change of a request when its deploy is refused, nor of a deploy when the change is', async () => {
    await insertRequest(tx, { request });
    const before = await written();
    expect(
      (
        await apply({
          request: { ...request, instances: 3 },
          deploy: { ...deploy, resources: { cpus: 1_000, memoryMb: 1 } },
        })
      ).status,
    ).toBe(400);
    const tooMany = await apply({ request: { ...request, instances: 1_000 }, deploy });
    expect(tooMany).toMatchObject({ status: 400, body: { errors: [{ field: 'request.instances' }] } });
    expect(await written()).toEqual(before);
  });

  test('while deploys are switched off', async () => {
    await tx.query(
      `INSERT INTO disabled_action (action, message, automatically_clearable) VALUES ('DEPLOY', 'moving', false)`,
    );
    expect(await apply({ request, deploy })).toMatchObject({ status: 409, body: { code: 'ACTION_DISABLED' } });
    expect(await requests()).toEqual([]);
    expect((await apply({ request })).body).toMatchObject({ request: 'CREATED' });
  });

  test('of a dry run, which says what would be done, and what would be refused', async () => {
    const nothing = await written();
    const dry = (body: object) => apply(body, '?dryRun=true');
    const wouldBe = { request: 'CREATED', deploy: 'STARTED' };
    expect((await dry({ request, deploy })).body).toMatchObject(wouldBe);
    expect((await dry({ request, deploy: { ...deploy, user: 'gone' } })).status).toBe(400);
    expect(await written()).toEqual(nothing);
    expect((await apply({ request, deploy })).body).toMatchObject(wouldBe);
    const before = await written();
    expect((await dry({ request: { ...request, instances: 1 } })).body).toMatchObject({
      request: 'CHANGED',
      changes: ['request.instances'],
    });
    expect(await written()).toEqual(before);
  });
});

describe('refuses', () => {
  test.each([
    ['a body with neither', {}, 400, 'INVALID_REQUEST', 'request'],
    ['a request without an id', { request: { requestType: 'SERVICE' } }, 400, 'INVALID_REQUEST', 'request.id'],
    [
      'a deploy of another request',
      { request, deploy: { ...deploy, requestId: 'db' } },
      400,
      'INVALID_DEPLOY',
      'deploy.requestId',
    ],
    ['a deploy of a request that is not there', { deploy }, 404, 'REQUEST_NOT_FOUND', undefined],
  ])('%s', async (_name, body, status, code, field) => {
    const answer = await apply(body);
    expect([answer.status, answer.body.code, answer.body.errors?.[0]?.field]).toEqual([status, code, field]);
  });

  test('an id that was used for something else, and says what to do', async () => {
    await apply({ request, deploy: { ...deploy, id: 'v1' } });
    await finish('v1');
    const { status, body } = await apply({ deploy: { ...deploy, id: 'v1', command: 'other' } });
    expect([status, body.code, body.errors[0]?.rule]).toEqual([400, 'INVALID_DEPLOY', 'unique']);
    expect(body.message).toContain('choose another, or leave it out');
  });

  test('what is being removed, also where nothing would change', async () => {
    await apply({ request });
    await tx.query(`UPDATE request SET state = 'DELETING'`);
    expect(await apply({ request })).toMatchObject({ status: 409, body: { code: 'REQUEST_BEING_CLEANED' } });
  });

  test('another deploy beside one in progress', async () => {
    await apply({ request, deploy });
    const { status, body } = await apply({ deploy: { ...deploy, command: 'other' } });
    expect([status, body.code]).toEqual([409, 'DEPLOY_IN_PROGRESS']);
  });
});

test('of calls at the same time one makes it, and the others find it made', async () => {
  const answers = await Promise.all(Array.from({ length: 5 }, () => apply({ request, deploy })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(answers.map(({ body }) => body.request).toSorted()).toEqual([
    'CREATED',
    ...Array<string>(4).fill('UNCHANGED'),
  ]);
  expect(new Set(answers.map(({ body }) => body.deployId)).size).toBe(1);
});

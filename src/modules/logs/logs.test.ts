import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { insertDeploy, insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../../../test/support/object-store.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { makeTaskId } from '../../core/task-id.js';
import type { ObjstoreLog, ObjstoreSearchResult } from '../../core/model/logs.js';
import { Clock } from '../../platform/clock.js';
import type { ErrorDto } from '../../platform/http/error.dto.js';
import { ObjstoreSettings } from '../../platform/settings/objstore-settings.js';
import { LogsModule } from './logs.module.js';

const hour = 3_600_000;
const day = 24 * hour;
/** 2026-01-20. */
const now = start + 15 * day;
class FixedClock extends Clock {
  override now(): number {
    return now;
  }
}

let store: TestObjectStore;
let rooms: RoomApp;
let taskId: string;

const objstore = (changes: Record<string, unknown> = {}) =>
  ObjstoreSettings.parse({
    objstoreBucket: 'logs',
    endpoint: store.url,
    ...store.keys,
    groupOverrides: { blue: { objstoreBucket: 'blue-logs', ...store.keys } },
    groupObjstoreSearchConfigs: { blue: { objstoreBucket: 'blue-archive', ...store.keys } },
    waitForObjstoreLinksSeconds: 5,
    ...changes,
  });

const startLogs = (changes: Record<string, unknown> = {}, databaseUrl?: string) =>
  startRooms({
    modules: [LogsModule],
    settings: { objstore: objstore(changes) },
    clock: new FixedClock(),
    databaseUrl,
  });

const idOf = (requestId: string, deployId: string, startedAt = start, instanceNo = 1): string =>
  makeTaskId({ requestId, deployId, startedAt, instanceNo, host: 'host-1', rackId: 'rack-1' }).id;
const keyOf = (id: string, { month = '01', requestId = 'web', at = start, name = 'service.log.gz' } = {}): string =>
  `${requestId}/2026/${month}/${id}_0-${at}-${name}`;

const event = (requestId: string, type: string, at: number, group?: string) =>
  rooms.database.pool.query(
    'INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ($1, $2, $3, $4)',
    [requestId, new Date(at), type, JSON.stringify({ id: requestId, requestType: 'SERVICE', group })],
  );

describe.skipIf(withoutObjectStore !== undefined)('logs in an object store', () => {
  beforeAll(async () => {
    store = await startObjectStore('logs', 'blue-logs', 'blue-archive', 'extra');
    rooms = await startLogs();
    const { pool } = rooms.database;
    await insertRequest(pool, { activeDeployId: 'd2' });
    await event('web', 'CREATED', start - 40 * day);
    await insertDeploy(pool, { createdAt: start - 40 * day });
    await insertDeploy(pool, { deploy: { id: 'd2' }, createdAt: start - hour });
    ({ id: taskId } = await insertTask(pool, { deployId: 'd2' }));
    await insertRequest(pool, { request: { id: 'web-api' } });
    await event('web-api', 'CREATED', start - 40 * day);
    store.put('logs', keyOf(taskId), {
      body: 'one',
      at: start + hour,
      metadata: { starttime: String(start), endtime: String(start + hour) },
    });
    store.put('logs', keyOf(taskId, { at: start + 2 * hour }), {
      at: start + 2 * hour,
      metadata: { starttime: 'soon' },
    });
    store.put('logs', keyOf(idOf('web', 'd1')), { at: start + 3 * hour });
    store.put('logs', keyOf(idOf('web-api', 'd2'), { requestId: 'web-api' }), { at: start });
  });
  afterAll(async () => {
    await rooms.close();
    await store.close();
  });
  beforeEach(() => {
    store.calls.length = 0;
    store.mostAtOnce = 0;
  });
  afterEach(() => {
    store.before = () => undefined;
  });

  const list = (path: string, on = rooms) => on.get<ObjstoreLog[] & ErrorDto>(`/api/logs/${path}`);
  const search = (body: object, on = rooms) =>
    on.call<ObjstoreSearchResult & ErrorDto>('POST', '/api/logs/search', body);
  const keysOf = (logs: readonly ObjstoreLog[]): string[] => logs.map((log) => log.key);

  describe('without an object store', () => {
    test.each([
      ['GET', 'task/nope', undefined],
      ['GET', 'request/web', undefined],
      ['GET', 'request/web/deploy/d1', undefined],
      ['POST', 'search', { taskIds: 7 }],
    ])('%s %s is 404', async (method, path, body) => {
      const bare = await startRooms({ modules: [LogsModule] });
      onTestFinished(() => bare.close());
      const answer = await bare.call(method, `/api/logs/${path}`, body);
      expect(answer).toMatchObject({ status: 404, body: { status: 404, code: 'OBJSTORE_NOT_CONFIGURED' } });
    });
  });

  describe('the logs of a task', () => {
    test('come newest first, with the times that their writer noted', async () => {
      const { status, body } = await list(`task/${taskId}`);
      expect(status).toBe(200);
      expect(body).toMatchObject([
        { key: keyOf(taskId, { at: start + 2 * hour }), lastModified: start + 2 * hour, size: 1 },
        { key: keyOf(taskId), lastModified: start + hour, size: 3, startTime: start, endTime: start + hour },
      ]);
    });

    test('have no member for a time that is not noted or cannot be read', async () => {
      const { body } = await list(`task/${taskId}`);
      expect(Object.keys(body[0]!)).toEqual(['key', 'lastModified', 'size', 'getUrl', 'downloadUrl']);
    });

    test('excludeMetadata spares the call per object and leaves the times out', async () => {
      const { body } = await list(`task/${taskId}?excludeMetadata=true`);
      expect(body[1]).not.toHaveProperty('startTime');
      expect(store.calls.filter((call) => call.startsWith('HEAD'))).toEqual([]);
    });

    test('list leaves the links out and keeps the times', async () => {
      const { body } = await list(`task/${taskId}?list=true`);
      expect(body[1]).toEqual({
        key: keyOf(taskId),
        lastModified: start + hour,
        size: 3,
        startTime: start,
        endTime: start + hour,
      });
    });

    test('are found in every month of a task without history that it may have run in', async () => {
      const late = Date.UTC(2026, 2, 30);
      const id = idOf('web', 'gone', late);
      store.put('logs', keyOf(id, { month: '03' }));
      store.put('logs', keyOf(id, { month: '04' }));
      store.put('logs', keyOf(id, { month: '05' }));
      const { body } = await list(`task/${id}?list=true`);
      expect(keysOf(body).toSorted()).toEqual([keyOf(id, { month: '03' }), keyOf(id, { month: '04' })]);
    });

    test('start and end narrow the time, and never widen it', async () => {
      const id = idOf('web', 'd2', start, 2);
      await insertTask(rooms.database.pool, { deployId: 'd2', instanceNo: 2 });
      for (const month of ['01', '02']) store.put('logs', keyOf(id, { month }));
      expect(keysOf((await list(`task/${id}?list=true&end=${now + 90 * day}`)).body)).toEqual([keyOf(id)]);
      expect((await list(`task/${id}?list=true&start=${now + 1}`)).body).toEqual([]);
    });

    test('an id that cannot be read is 400', async () => {
      expect(await list('task/nope')).toMatchObject({ status: 400, body: { errors: [{ field: 'taskId' }] } });
    });
  });

  describe('links', () => {
    test('show the file and save it as it is stored, without any credentials of the caller', async () => {
      const id = idOf('web', 'd2', start, 3);
      await insertTask(rooms.database.pool, { deployId: 'd2', instanceNo: 3 });
      store.put('logs', keyOf(id, { name: "it's (1) & %+x*!.log" }), { body: 'hello' });
      const zipped = gzipSync('hello');
      store.put('logs', keyOf(id), { body: zipped, contentEncoding: 'gzip' });
      const { body } = await list(`task/${id}?excludeMetadata=true`);
      expect(body).toHaveLength(2);
      for (const { key, getUrl, downloadUrl } of body) {
        const shown = await fetch(getUrl!);
        expect([key, shown.status, shown.headers.get('content-disposition')]).toEqual([key, 200, null]);
        expect(await shown.text()).toBe('hello');
        const saved = await fetch(downloadUrl!);
        expect([key, saved.status, saved.headers.get('content-disposition')]).toEqual([key, 200, 'attachment']);
        const stored = key.endsWith('.gz') ? zipped : Buffer.from('hello');
        expect(Buffer.from(await saved.arrayBuffer()).equals(stored)).toBe(true);
      }
    });

    test('are valid as long as the settings say', async () => {
      const { body } = await list(`task/${taskId}`);
      for (const url of [body[0]!.getUrl!, body[0]!.downloadUrl!]) {
        expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('86400');
      }
    });

    test('are refused by the store once they have expired, or when they were changed', async () => {
      const short = await startLogs({ expireObjstoreLinksAfterMillis: 5_000 }, rooms.databaseUrl);
      onTestFinished(() => short.close());
      const { body } = await list(`task/${taskId}`, short);
      const { getUrl } = body[0]!;
      expect((await fetch(getUrl!)).status).toBe(200);
      expect((await fetch(getUrl!.replace('service.log', 'another.log'))).status).toBe(403);
      await expect.poll(async () => (await fetch(getUrl!)).status, { timeout: 15_000, interval: 200 }).toBe(403);
    });

    test('and answers never show the secret key', async () => {
      const secret = 'a-secret-that-nobody-may-see';
      const other = await startLogs({ objstoreSecretKey: secret }, rooms.databaseUrl);
      onTestFinished(() => other.close());
      const refused = await list(`task/${taskId}`, other);
      expect(refused.status).toBe(502);
      const { body: linked } = await list(`task/${taskId}?list=false&excludeMetadata=true`);
      expect(JSON.stringify([refused.body, linked])).not.toContain(secret);
    });
  });

  describe('the logs of a request', () => {
    test('are those of all its deploys, and not those of requests whose ids begin alike', async () => {
      const { body } = await list('request/web?list=true&excludeMetadata=true');
      expect(keysOf(body)).toEqual(expect.arrayContaining([keyOf(idOf('web', 'd1')), keyOf(taskId)]));
      expect(keysOf(body).filter((key) => key.startsWith('web-api'))).toEqual([]);
    });

    test('are not mixed with those of others where keys begin with the task id, either', async () => {
      const flat = await startLogs({ objstoreKeyFormat: '%Y/%taskId-%filename' }, rooms.databaseUrl);
      onTestFinished(() => flat.close());
      const [own, others] = [`2026/${idOf('web', 'd9')}-x.log`, `2026/${idOf('web-api', 'd9')}-x.log`];
      store.put('logs', own);
      store.put('logs', others);
      expect(keysOf((await list('request/web?list=true', flat)).body)).toEqual([own]);
      expect(keysOf((await list('request/web-api?list=true', flat)).body)).toEqual([others]);
    });

    test('maxPerPage is the most of each bucket, the newest; absent: all', async () => {
      await insertRequest(rooms.database.pool, { request: { id: 'many', group: 'blue' } });
      await event('many', 'CREATED', start);
      const key = (n: number): string => keyOf(idOf('many', 'd1', start + n), { requestId: 'many' });
      for (const bucket of ['blue-logs', 'blue-archive', 'logs']) {
        for (const n of [1, 2, 3]) store.put(bucket, key(n), { at: start + n * 1_000 });
      }
      expect((await list('request/many?list=true')).body).toHaveLength(6);
      const { body } = await list('request/many?list=true&maxPerPage=2');
      expect(keysOf(body)).toEqual([key(3), key(3), key(2), key(2)]);
    });

    test('of a group are in its own bucket and in the one that is searched for it, not in the general one', async () => {
      await insertRequest(rooms.database.pool, { request: { id: 'blues', group: 'blue' } });
      await event('blues', 'CREATED', start);
      const id = idOf('blues', 'd1');
      for (const bucket of ['blue-logs', 'blue-archive', 'logs']) {
        store.put(bucket, keyOf(id, { requestId: 'blues', name: bucket }));
      }
      const { body } = await list('request/blues?list=true');
      expect(
        keysOf(body)
          .map((key) => key.split('-').slice(-2).join('-'))
          .toSorted(),
      ).toEqual(['blue-archive', 'blue-logs']);
    });

    test('that is gone are found by its history, until a day after its end', async () => {
      await event('gone', 'CREATED', Date.UTC(2025, 10, 20), 'blue');
      await event('gone', 'DELETED', Date.UTC(2025, 10, 29), 'blue');
      const put = (year: number, month: string): string => {
        const key = `gone/${year}/${month}/${idOf('gone', 'd1')}_0-1-x`;
        store.put('blue-logs', key);
        return key;
      };
      const [within] = [put(2025, '11'), put(2025, '12'), put(2026, '01')];
      expect(keysOf((await list('request/gone?list=true')).body)).toEqual([within]);
    });

    test('without any history needs start', async () => {
      const answer = await list('request/unknown');
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'start', rule: 'required' }] } });
      const key = keyOf(idOf('unknown', 'd1'), { requestId: 'unknown' });
      store.put('logs', key);
      expect(keysOf((await list(`request/unknown?list=true&start=${start}`)).body)).toEqual([key]);
    });

    test('are found in the buckets and under the patterns of additional files', async () => {
      const objstoreUploaderAdditionalFiles = [
        'service.log',
        { filename: 'gc.log', objstoreUploaderBucket: 'extra', objstoreUploaderKeyPattern: '%requestId/gc/%filename' },
      ];
      const wider = await startLogs({ objstoreUploaderAdditionalFiles }, rooms.databaseUrl);
      onTestFinished(() => wider.close());
      store.put('extra', 'web/gc/gc.log');
      store.put('extra', 'web-api/gc/gc.log');
      expect(keysOf((await list('request/web?list=true', wider)).body)).toContain('web/gc/gc.log');
      expect(keysOf((await list('request/web?list=true', wider)).body)).not.toContain('web-api/gc/gc.log');
    });

    test.each([
      ['a deploy', { deploy: 'd9', run: undefined }],
      ['a run', { deploy: 'd8', run: true }],
    ])(
      'are found where %s has its own pattern and bucket, by task, deploy and request',
      async (_who, { deploy: id, run }) => {
        const { pool } = rooms.database;
        const own = {
          filename: 'extra*.txt',
          objstoreUploaderBucket: 'extra',
          objstoreUploaderKeyPattern: '%requestId/%taskId/%filename',
        };
        const foreign = { filename: 'x', objstoreUploaderBucket: 'extra', objstoreUploaderKeyPattern: '%filename' };
        const files = [own, foreign];
        await insertDeploy(pool, {
          deploy: { id, ...(!run && { objstoreUploaderAdditionalFiles: files }) },
          createdAt: start,
        });
        const task = await insertTask(pool, { deployId: id, instanceNo: 7, uploads: run ? files : undefined });
        const key = `web/${task.id}/extra.txt`;
        store.put('extra', key);
        store.put('extra', `web-api/${idOf('web-api', 'd2')}/extra.txt`);
        const wide = await startLogs({ allowedUploaderBuckets: ['extra'] }, rooms.databaseUrl);
        onTestFinished(() => wide.close());
        const isFound = async () => {
          for (const path of [`task/${task.id}`, `request/web/deploy/${id}`, 'request/web']) {
            const keys = keysOf((await list(`${path}?list=true`, wide)).body);
            expect(keys).toContain(key);
            expect(keys.filter((one) => one.startsWith('web-api'))).toEqual([]);
          }
        };
        await isFound();
        await pool.query(
          `INSERT INTO task_history (task_id, request_id, deploy_id, host, instance_no, started_at, updated_at, last_task_status, data)
         SELECT task_id, request_id, deploy_id, host, instance_no, started_at, $2, 'TASK_FINISHED',
           jsonb_build_object('task', jsonb_build_object('taskRequest', jsonb_build_object('pendingTask', document::jsonb -> 'pendingTask')))
         FROM task JOIN task_launch USING (task_id) WHERE task_id = $1`,
          [task.id, new Date(start + hour)],
        );
        await pool.query('DELETE FROM task_launch WHERE task_id = $1', [task.id]);
        await pool.query('DELETE FROM task WHERE task_id = $1', [task.id]);
        await isFound();
        expect(keysOf((await search({ requestsAndDeploys: { web: [id] } }, wide)).body.results)).toContain(key);
        expect(keysOf((await search({ requestsAndDeploys: { web: ['d1'] } }, wide)).body.results)).not.toContain(key);
      },
    );

    test('can be read in pages as any list', async () => {
      const all = keysOf((await list('request/web?list=true')).body);
      const paged: string[] = [];
      for (let cursor: string | null = '*'; cursor;) {
        const { body, headers } = await list(`request/web?excludeMetadata=true&limit=2&cursor=${cursor}`);
        paged.push(...keysOf(body));
        cursor = headers.get('x-next-cursor');
      }
      expect(paged).toEqual(all.toSorted());
    });
  });

  describe('the logs of a deploy', () => {
    test('are those of its tasks, and not of deploys whose ids begin alike', async () => {
      store.put('logs', keyOf(idOf('web', 'd10')));
      const { body } = await list('request/web/deploy/d1?list=true');
      expect(keysOf(body)).toEqual([keyOf(idOf('web', 'd1'))]);
    });

    test('of an unknown one are 404', async () => {
      expect(await list('request/web/deploy/nope')).toMatchObject({ status: 404, body: { code: 'DEPLOY_NOT_FOUND' } });
    });

    test('of a past one end a day after its last task', async () => {
      await rooms.database.pool.query(
        `INSERT INTO deploy_statistics (request_id, deploy_id, num_tasks, last_finish_at) VALUES ('web', 'd0', 1, $1)`,
        [new Date(Date.UTC(2025, 10, 29))],
      );
      await insertDeploy(rooms.database.pool, { deploy: { id: 'd0' }, createdAt: Date.UTC(2025, 10, 20) });
      const key = (month: string): string => `web/2025/${month}/${idOf('web', 'd0')}_0-1-x`;
      for (const month of ['11', '12']) store.put('logs', key(month));
      expect(keysOf((await list('request/web/deploy/d0?list=true')).body)).toEqual([key('11')]);
    });
  });

  describe('a search', () => {
    test.each([
      { body: {}, field: '', rule: 'required' },
      { body: { taskIds: [], requestsAndDeploys: {} }, field: '', rule: 'required' },
      { body: { taskIds: ['nope'] }, field: 'taskIds', rule: 'pattern' },
      { body: { requestsAndDeploys: { unheard: [] } }, field: 'start', rule: 'required' },
      { body: { requestsAndDeploys: { web: 'd1' } }, field: 'requestsAndDeploys', rule: 'textLists' },
      { body: { taskIds: ['x'], continuationTokens: { x: 1 } }, field: 'continuationTokens', rule: 'tokens' },
      { body: { taskIds: ['x'], maxPerPage: -1 }, field: 'maxPerPage', rule: 'min' },
    ])('$body is refused for $field', async ({ body, field, rule }) => {
      expect(await search(body)).toMatchObject({ status: 400, body: { errors: [{ field, rule }] } });
    });

    test('without a body is 400', async () => {
      expect(await rooms.call('POST', '/api/logs/search')).toMatchObject({ status: 400 });
    });

    test('for more than a thousand tasks is refused', async () => {
      const taskIds = Array.from({ length: 1_001 }, (_, n) => idOf('web', 'd1', start, n + 1));
      expect(await search({ taskIds })).toMatchObject({ status: 400, body: { errors: [{ rule: 'max' }] } });
    });

    test('for an unknown deploy is 404', async () => {
      expect(await search({ requestsAndDeploys: { web: ['nope'] } })).toMatchObject({ status: 404 });
    });

    test('finds requests, deploys and tasks together, each file once', async () => {
      const { body } = await search({
        requestsAndDeploys: { web: ['d2'], 'web-api': [] },
        taskIds: [taskId],
        listOnly: true,
        maxPerPage: 100,
      });
      expect(body.lastPage).toBe(true);
      expect(new Set(keysOf(body.results)).size).toBe(body.results.length);
      expect(keysOf(body.results)).toEqual(
        expect.arrayContaining([keyOf(taskId), keyOf(idOf('web-api', 'd2'), { requestId: 'web-api' })]),
      );
    });

    test('has links unless listOnly', async () => {
      const { body } = await search({ taskIds: [taskId] });
      expect((await fetch((body.results[0] as ObjstoreLog).getUrl!)).status).toBe(200);
      const { body: bare } = await search({ taskIds: [taskId], listOnly: true });
      expect(bare.results[0]).not.toHaveProperty('getUrl');
    });

    test('fileNamePrefixWhitelist keeps what begins so', async () => {
      const all = { taskIds: [taskId], listOnly: true };
      expect((await search({ ...all, fileNamePrefixWhitelist: ['nothing'] })).body.results).toEqual([]);
      for (const beginning of [`${taskId}_0-${start}-`, 'web/2026/01/']) {
        const { body } = await search({ ...all, fileNamePrefixWhitelist: [beginning] });
        expect(keysOf(body.results)).toContain(keyOf(taskId));
      }
    });

    test('tokens are named by group, bucket and prefix', async () => {
      const { body } = await search({ taskIds: [taskId], listOnly: true });
      expect(body.continuationTokens).toEqual({ [`default-logs-web/2026/01/${taskId}_`]: { lastPage: true } });
    });

    test('a place that is read to its end is not asked again, and its token is answered as it was', async () => {
      const name = `default-logs-web/2026/01/${taskId}_`;
      const continuationTokens = { [name]: { value: 'x', lastPage: true } };
      const { body } = await search({ taskIds: [taskId], continuationTokens });
      expect(body).toEqual({ results: [], lastPage: true, continuationTokens });
      expect(store.calls).toEqual([]);
    });
  });

  describe('the store', () => {
    test('is asked by no more than maxObjstoreThreads calls at a time', async () => {
      store.before = () => new Promise((resolve) => setTimeout(resolve, 20));
      const taskIds = Array.from({ length: 20 }, (_, n) => idOf('web', 'd1', start, n + 1));
      expect((await search({ taskIds })).status).toBe(200);
      expect(store.mostAtOnce).toBe(3);
    });

    test('that is down is 502, by name and without the reason in full', async () => {
      const down = await startLogs({ endpoint: 'http://127.0.0.1:1' }, rooms.databaseUrl);
      onTestFinished(() => down.close());
      const { status, body } = await list(`task/${taskId}`, down);
      expect([status, body.code]).toEqual([502, 'OBJSTORE_UNAVAILABLE']);
      expect(body.message).toBe("The object store does not give access to bucket 'logs': ECONNREFUSED");
    });

    test('that answers 503, or breaks off, is asked once more and then 502', async () => {
      store.failures = Number.POSITIVE_INFINITY;
      const { status, body } = await list(`task/${taskId}`);
      expect([status, body.code, body.message]).toEqual([
        502,
        'OBJSTORE_UNAVAILABLE',
        "The object store does not give access to bucket 'logs': SlowDown",
      ]);
      expect(store.calls).toHaveLength(2);
      store.failures = 1;
      expect((await list(`task/${taskId}?list=true&excludeMetadata=true`)).status).toBe(200);
      store.failures = 0;
    });

    test('that refuses, or has no such bucket, is 502 with its word for it', async () => {
      const other = await startLogs({ objstoreBucket: 'nowhere' }, rooms.databaseUrl);
      onTestFinished(() => other.close());
      expect(await list(`task/${taskId}`, other)).toMatchObject({
        status: 502,
        body: { message: "The object store does not give access to bucket 'nowhere': NoSuchBucket" },
      });
    });

    test('that does not answer in time is 408, and nothing more is asked', async () => {
      const hasty = await startLogs({ waitForObjstoreListSeconds: 0.2 }, rooms.databaseUrl);
      onTestFinished(() => hasty.close());
      store.before = () => new Promise(() => undefined);
      const taskIds = Array.from({ length: 20 }, (_, n) => idOf('web', 'd1', start, n + 1));
      const { status, body } = await search({ taskIds }, hasty);
      expect([status, body.code]).toEqual([408, 'OBJSTORE_TIMEOUT']);
      expect(store.calls).toHaveLength(3);
    });

    test('that takes too long over metadata is 408, with advice', async () => {
      const hasty = await startLogs({ waitForObjstoreLinksSeconds: 0.2 }, rooms.databaseUrl);
      onTestFinished(() => hasty.close());
      store.before = () => {
        if (store.calls.at(-1)!.startsWith('HEAD')) return new Promise(() => undefined);
      };
      const { status, body } = await list(`task/${taskId}`, hasty);
      expect(status).toBe(408);
      expect(body.message).toContain('excludeMetadata');
    });
  });
});

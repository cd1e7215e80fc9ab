import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ObjstoreLog, ObjstoreSearchResult } from '../../src/core/model/logs.js';
import { startObjectStore, withoutObjectStore } from '../support/object-store.js';
import { waitFor } from '../support/wait-for.js';
import { createDatabase } from '../support/test-database.js';
import { everyOperationWasCalled, operationsOf, type CallInput } from './operations.js';
import { deployed } from './running-tasks.js';

describe.skipIf(withoutObjectStore !== undefined)('stored logs', async () => {
  const store = await startObjectStore('logs', 'others');
  afterAll(() => store.close());

  const databases = await Promise.all([createDatabase(), createDatabase(), createDatabase()]);
  afterAll(() => Promise.all(databases.map((database) => database.remove())));
  const bare = operationsOf(['Object store logs'], {
    databaseUrl: databases[0].url,
    settings: { logFolder: { enabled: false } },
  });
  const withFolder = operationsOf(bare, { databaseUrl: databases[2].url });
  const operations = operationsOf(bare, {
    databaseUrl: databases[1].url,
    settings: {
      objstore: {
        objstoreBucket: 'logs',
        endpoint: store.url,
        ...store.keys,
        groupObjstoreSearchConfigs: { blue: { objstoreBucket: 'others', ...store.keys } },
        waitForObjstoreLinksSeconds: 10,
        waitForObjstoreListSeconds: 10,
      },
    },
  });

  const hour = 3_600_000;
  const ofTask = 'GET /api/logs/task/{taskId}' as const;
  const ofRequest = 'GET /api/logs/request/{requestId}' as const;
  const ofDeploy = 'GET /api/logs/request/{requestId}/deploy/{deployId}' as const;
  const params = { requestId: 'web', deployId: 'd1' };
  let taskId: string;
  let startedAt: number;
  /** By the hour after the start of the task in which they were written. */
  const keys: string[] = [];

  const list = (operation: typeof ofTask | typeof ofRequest | typeof ofDeploy, query: CallInput['query'] = {}) =>
    operations.call<ObjstoreLog[]>(operation, 200, { params: { ...params, taskId }, query });
  const refused = (operation: typeof ofTask | typeof ofRequest | typeof ofDeploy, status: number, input: CallInput) =>
    operations.call<{ message: string }>(operation, status, {
      ...input,
      params: { ...params, taskId, ...input.params },
    });
  const search = (body: object) => operations.call<ObjstoreSearchResult>('POST /api/logs/search', 200, { body });
  const keysOf = (logs: readonly { key: string }[]): string[] => logs.map(({ key }) => key);

  beforeAll(async () => {
    const { api } = operations;
    await deployed(api, { id: 'web', group: 'blue' });
    const [task] = await api.running('web', 1);
    ({ id: taskId, startedAt } = task!.taskId);
    const [year, month] = new Date(startedAt).toISOString().split('-');
    for (const n of [0, 1, 2]) {
      keys.push(`web/${year}/${month}/${taskId}_${n}-${startedAt + n * hour}-service.log.gz`);
      const times = { starttime: String(startedAt), endtime: String(startedAt + n * hour) };
      store.put('logs', keys[n]!, { body: 'x'.repeat(n + 1), at: startedAt + n * hour, metadata: times });
    }
    store.put('others', keys[0]!, { body: 'elsewhere', at: startedAt - hour });
  }, 60_000);

  test.each([
    [ofTask, {}],
    [ofRequest, {}],
    [ofDeploy, {}],
    ['POST /api/logs/search', { body: { taskIds: ['web-d1-1700000000000-1-host-rack'] } }],
  ] as const)('%s is 404 where no object store is configured', async (operation, input) => {
    const answer = await bare.call(operation, 404, { params: { ...params, taskId: 'nope' }, ...input });
    expect(answer).toMatchObject({ code: 'OBJSTORE_NOT_CONFIGURED' });
  });

  test('GET /api/logs/object opens what a link names, and nothing else', async () => {
    const { api } = withFolder;
    await api.saveRequest({ id: 'once', requestType: 'RUN_ONCE' });
    await api.deploy({ requestId: 'once', id: 'd1', command: 'echo kept', resources: { cpus: 0.1, memoryMb: 32 } });
    const [log] = await waitFor('the log', async () => {
      const logs = await withFolder.call<ObjstoreLog[]>(ofRequest, 200, { params: { requestId: 'once' } });
      return logs.length > 0 && logs;
    });
    const query = Object.fromEntries(new URL(log!.getUrl!).searchParams);
    const object = (on: typeof withFolder, status: number, changes: object = {}) =>
      on.call('GET /api/logs/object', status, { query: { ...query, ...changes } });
    expect(await object(withFolder, 200)).toBe('kept\n');
    expect(await object(withFolder, 403, { key: 'x' })).toMatchObject({ code: 'LINK_NOT_VALID' });
    expect(await object(bare, 404)).toMatchObject({ code: 'OBJSTORE_NOT_CONFIGURED' });
  });

  describe.each([ofTask, ofRequest, ofDeploy])('%s', (operation) => {
    test('lists all files of all buckets, the newest first, with times and links', async () => {
      const found = await list(operation);
      expect(keysOf(found)).toEqual([keys[2], keys[1], keys[0], keys[0]]);
      const { getUrl, downloadUrl, ...metadata } = found[1]!;
      const lastModified = Math.floor((startedAt + hour) / 1_000) * 1_000;
      expect({ ...metadata, lastModified: Math.floor(metadata.lastModified / 1_000) * 1_000 }).toEqual({
        key: keys[1],
        lastModified,
        size: 2,
        startTime: startedAt,
        endTime: startedAt + hour,
      });
      const shown = await fetch(getUrl!);
      expect([await shown.text(), shown.headers.get('content-disposition')]).toEqual(['xx', null]);
      const saved = await fetch(downloadUrl!);
      expect([await saved.text(), saved.headers.get('content-disposition')]).toEqual(['xx', 'attachment']);
    });

    test('leaves the links out with list, and the times with excludeMetadata', async () => {
      const members = async (query: CallInput['query']) => Object.keys((await list(operation, query))[0]!);
      expect(await members({ list: true })).toEqual(['key', 'lastModified', 'size', 'startTime', 'endTime']);
      expect(await members({ excludeMetadata: true })).toEqual([
        'key',
        'lastModified',
        'size',
        'getUrl',
        'downloadUrl',
      ]);
      expect(await members({ list: true, excludeMetadata: true })).toEqual(['key', 'lastModified', 'size']);
    });

    test('looks only into the time between start and end, zero meaning open', async () => {
      const all = [keys[2], keys[1], keys[0], keys[0]];
      const day = 24 * hour;
      const found = async (start: number, end: number) => keysOf(await list(operation, { list: true, start, end }));
      expect(await found(0, 0)).toEqual(all);
      expect(await found(startedAt, startedAt + day)).toEqual(all);
      // Keys are looked for by month: those of the task's month are all that there are.
      expect(await found(startedAt + 40 * day, startedAt + 41 * day)).toEqual([]);
      expect(await found(startedAt - 100 * day, startedAt - 60 * day)).toEqual([]);
    });

    test('refuses values that cannot be read', async () => {
      for (const [name, value] of [
        ['start', 'soon'],
        ['end', '-1'],
        ['list', 'maybe'],
        ['excludeMetadata', 'maybe'],
      ] as const) {
        expect((await refused(operation, 400, { query: { [name]: value } })).message).toContain(name);
      }
    });
  });

  test('maxPerPage is the most of each bucket, the newest', async () => {
    for (const operation of [ofRequest, ofDeploy] as const) {
      expect(keysOf(await list(operation, { list: true, maxPerPage: 2 }))).toEqual([keys[2], keys[1], keys[0]]);
      expect((await refused(operation, 400, { query: { maxPerPage: 'all' } })).message).toContain('maxPerPage');
    }
  });

  test('an id that is none, an unknown deploy, and a request without history that says no start are refused', async () => {
    expect((await refused(ofTask, 400, { params: { taskId: 'nope' } })).message).toContain('taskId');
    expect(await refused(ofDeploy, 404, { params: { deployId: 'nope' } })).toMatchObject({ code: 'DEPLOY_NOT_FOUND' });
    expect((await refused(ofRequest, 400, { params: { requestId: 'nope' } })).message).toContain('start is needed');
    const body = { requestsAndDeploys: { web: ['nope'] } };
    expect(await operations.call('POST /api/logs/search', 404, { body })).toMatchObject({ code: 'DEPLOY_NOT_FOUND' });
  });

  test('a search takes tasks, deploys and requests, and leaves out what it is told to', async () => {
    for (const whose of [
      { taskIds: [taskId] },
      { requestsAndDeploys: { web: [] } },
      { requestsAndDeploys: { web: ['d1'] } },
    ]) {
      const { results, lastPage } = await search({ ...whose, maxPerPage: 100 });
      expect(keysOf(results)).toEqual([keys[2], keys[1], keys[0], keys[0]]);
      expect(lastPage).toBe(true);
      expect(results[0]).toMatchObject({ size: 3, startTime: startedAt, getUrl: expect.any(String) as string });
    }
    const bareResults = await search({ taskIds: [taskId], listOnly: true, excludeMetadata: true });
    expect(Object.keys(bareResults.results[0]!)).toEqual(['key', 'lastModified', 'size']);
    const inTime = { taskIds: [taskId], start: startedAt + 960 * hour, end: startedAt + 970 * hour };
    expect((await search(inTime)).results).toEqual([]);
    expect((await search({ taskIds: [taskId], fileNamePrefixWhitelist: ['nothing'] })).results).toEqual([]);
    const byName = await search({ taskIds: [taskId], fileNamePrefixWhitelist: [`${taskId}_1`] });
    expect(keysOf(byName.results)).toEqual([keys[1]]);
  });

  test('a search goes on where its tokens say, until each file was found once', async () => {
    const found: string[] = [];
    let pages = 0;
    let continuationTokens = {};
    for (let lastPage = false; !lastPage; pages += 1) {
      const page = await search({ taskIds: [taskId], listOnly: true, maxPerPage: 1, continuationTokens });
      found.push(...keysOf(page.results));
      ({ continuationTokens, lastPage } = page);
    }
    expect(found.toSorted()).toEqual([keys[0], keys[0], keys[1], keys[2]]);
    expect(pages).toBeGreaterThan(2);
    expect(Object.keys(continuationTokens)).toHaveLength(2);
  });

  test.each([
    [undefined, 'body'],
    [{}, 'taskIds or requestsAndDeploys must say whose logs to search'],
    [{ taskIds: [], requestsAndDeploys: {} }, 'taskIds or requestsAndDeploys must say'],
    [{ taskIds: ['nope'] }, 'not the id of a task'],
    [{ requestsAndDeploys: { nope: [] } }, 'start is needed'],
    [{ requestsAndDeploys: { web: 'd1' } }, 'requestsAndDeploys must'],
    [{ taskIds: ['x'], start: 'soon' }, 'start must'],
    [{ taskIds: ['x'], end: -1 }, 'end must'],
    [{ taskIds: ['x'], excludeMetadata: 'yes' }, 'excludeMetadata must'],
    [{ taskIds: ['x'], listOnly: 'yes' }, 'listOnly must'],
    [{ taskIds: ['x'], maxPerPage: -1 }, 'maxPerPage must'],
    [{ taskIds: ['x'], continuationTokens: { x: 1 } }, 'continuationTokens must'],
    [{ taskIds: ['x'], fileNamePrefixWhitelist: [7] }, 'fileNamePrefixWhitelist'],
  ])('the search %j is refused', async (body, message) => {
    expect((await operations.call<{ message: string }>('POST /api/logs/search', 400, { body })).message).toContain(
      message,
    );
  });

  everyOperationWasCalled(operations);
});

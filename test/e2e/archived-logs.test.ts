import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContinuationToken, ObjstoreLog, ObjstoreSearchResult } from '../../src/core/model/logs.js';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../support/object-store.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* Logs of tasks are there when nothing else of them is: without any setting, and in an object store. */

const patience = { timeoutMillis: 30_000 };
const kinds = withoutObjectStore === undefined ? (['folder', 'bucket'] as const) : (['folder'] as const);

describe.each(kinds)('in a %s', (kind) => {
  let store: TestObjectStore | undefined;
  let installation: Installation;
  let api: Api;
  beforeAll(async () => {
    if (kind === 'bucket') store = await startObjectStore('logs', 'others');
    const objstore = store && {
      objstoreBucket: 'logs',
      endpoint: store.url,
      ...store.keys,
      allowedUploaderBuckets: ['others'],
      waitForObjstoreLinksSeconds: 10,
    };
    installation = new Installation({
      database: createDatabase,
      settings: objstore && { objstore },
      local: {
        checkUploadsEverySeconds: 1,
        maxServiceLogSizeMb: 1,
        checkLogSizesEveryMillis: 100,
      },
    });
    ({ api } = await installation.start(['start']));
  }, 90_000);
  afterAll(async () => {
    await installation.dispose();
    await store?.close();
  }, 90_000);

  const resources = { cpus: 0.1, memoryMb: 64 };
  const ended = (requestId: string) =>
    waitFor(
      `the end of ${requestId}`,
      async () => {
        const [task] = await api.endedTasks(requestId);
        return task?.lastTaskState === 'TASK_FINISHED' && task.taskId.id;
      },
      patience,
    );
  const logsOf = (taskId: string, count: number) =>
    waitFor(
      'its logs',
      async () => {
        const logs = await api.get<ObjstoreLog[]>(`logs/task/${taskId}`);
        return logs.length === count && logs;
      },
      patience,
    );
  const sandboxOf = async (taskId: string) =>
    (await api.get<SandboxListing>(`sandbox/${taskId}/browse?path=`)).fullPathToRoot;
  const fetched = async (url: string) => {
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  };
  const unpacked = (content: Buffer) => (content[0] === 0x1f ? gunzipSync(content) : content);

  test('all that a service has written is found and fetched, byte for byte, when its sandbox is gone', async () => {
    await api.saveRequest({ id: 'service', requestType: 'SERVICE', instances: 1 });
    const written = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index} äöü\n`).join('');
    const write = (from: number, to: number) => `seq -f 'line %.0f äöü' ${from} ${to}`;
    const until = (file: string) => `until [ -e ../${file} ]; do sleep 0.05; done`;
    const cmd = [write(1, 100_000), until('more'), write(100_001, 200_000), until('go'), 'echo the end'].join('; ');
    await api.deploy({
      requestId: 'service',
      id: 'v1',
      customExecutorCmd: '/x',
      resources,
      executorData: { cmd: `sh -c "${cmd}"` },
    });
    const { id } = (await api.running('service', 1))[0]!.taskId;
    const root = await sandboxOf(id);
    const found = async () => (await api.get<ObjstoreLog[]>(`logs/task/${id}?list=true`)).length;
    await waitFor('the first rotated log', async () => (await found()) === 1, patience);
    writeFileSync(join(root, id, 'more'), '');
    await waitFor('the second one', async () => (await found()) === 2, patience);
    await api.post('requests/request/service/pause', { killTasks: false });
    writeFileSync(join(root, id, 'go'), '');
    await ended('service');
    const logs = (await logsOf(id, 3)).toSorted((a, b) => a.lastModified - b.lastModified || (a.key < b.key ? -1 : 1));
    rmSync(root, { recursive: true });

    for (const link of ['getUrl', 'downloadUrl'] as const) {
      const parts = await Promise.all(logs.map((log) => fetched(log[link]!)));
      expect(parts.map(({ length }) => length)).toEqual(logs.map(({ size }) => size));
      const text = parts.map((part) => unpacked(part).toString()).join('');
      expect(text === `${written(1, 200_000)}the end\n`).toBe(true);
    }
    const searched: string[] = [];
    let continuationTokens: Record<string, ContinuationToken> = {};
    let pages = 0;
    for (let isLast = false; !isLast; pages++) {
      const body = { requestsAndDeploys: { service: ['v1'] }, maxPerPage: 1, continuationTokens };
      const page = await api.post<ObjstoreSearchResult>('logs/search', body);
      searched.push(...page.results.map(({ key }) => key));
      ({ continuationTokens, lastPage: isLast } = page);
    }
    expect(searched.toSorted()).toEqual(logs.map(({ key }) => key).toSorted());
    expect(pages).toBe(3);
    const waiting = () => readdirSync(join(installation.dataDir, 'agent', 'uploads'));
    await waitFor('an agent that has nothing left to upload', () => waiting().length === 0, patience);
    if (store) expect(store.list('logs').map(({ key }) => key)).toEqual(searched.toSorted());
  }, 90_000);

  test('so are the outputs of a plain command, and a further file of it', async () => {
    await api.saveRequest({ id: 'plain', requestType: 'RUN_ONCE' });
    await api.deploy({
      requestId: 'plain',
      id: 'v1',
      resources,
      command: 'echo out; echo err >&2; echo dumped >dump.txt',
      objstoreUploaderAdditionalFiles: [{ filename: 'dump*' }],
    } as never);
    const id = await ended('plain');
    await logsOf(id, 3);
    rmSync(await sandboxOf(id), { recursive: true });
    const texts = await Promise.all((await logsOf(id, 3)).map(async ({ getUrl }) => String(await fetched(getUrl!))));
    expect(texts.toSorted()).toEqual(['dumped\n', 'err\n', 'out\n']);
    const found = await api.post<ObjstoreSearchResult>('logs/search', { requestsAndDeploys: { plain: [] } });
    expect([found.results.length, found.lastPage]).toEqual([3, true]);
  }, 90_000);

  test('a link opens nothing else, and nothing when it is changed', async () => {
    const [log] = await api.get<ObjstoreLog[]>('logs/request/plain');
    const changed = async (name: string, value: string) => {
      const url = new URL(log!.getUrl!);
      if (kind === 'bucket' && ['key', 'bucket'].includes(name)) url.pathname = `/logs/${value}`;
      else url.searchParams.set(name, value);
      return (await fetch(url)).status;
    };
    const names =
      kind === 'folder'
        ? { expires: '9999999999', attachment: 'true', signature: 'x' }
        : { 'X-Amz-Expires': '604800', 'response-content-type': 'text/html', 'X-Amz-Signature': 'x' };
    for (const [name, value] of Object.entries({ ...names, key: '../secret', bucket: '..' }))
      expect([name, await changed(name, value)]).toEqual([name, 403]);
    const saved = await fetch(log!.downloadUrl!);
    expect(saved.headers.get('content-disposition')).toMatch(/^attachment/);
    const shown = await fetch(log!.getUrl!, { headers: { range: 'bytes=0-1' } });
    expect([shown.status, (await shown.arrayBuffer()).byteLength]).toEqual([206, 2]);
    if (kind === 'folder') expect(shown.headers.get('content-security-policy')).toBe('sandbox');
  });
});

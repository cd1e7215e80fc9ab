import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ObjstoreLog, ObjstoreSearchResult } from '../../src/core/model/logs.js';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import { waitFor } from '../support/wait-for.js';
import type { Api } from './support/api.js';
import { Installation } from './support/product.js';

/* Logs of tasks are there when nothing else of them is, without any setting. */

let installation: Installation;
let api: Api;
beforeAll(async () => {
  installation = new Installation();
  ({ api } = await installation.start(['start']));
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

const resources = { cpus: 0.1, memoryMb: 32 };

const ended = (requestId: string) =>
  waitFor(`the end of ${requestId}`, async () => {
    const [task] = await api.endedTasks(requestId);
    return task?.lastTaskState === 'TASK_FINISHED' && task.taskId.id;
  });
const logsOf = (taskId: string, count: number) =>
  waitFor('its logs', async () => {
    const logs = await api.get<ObjstoreLog[]>(`logs/task/${taskId}`);
    return logs.length === count && logs;
  });

test('what a task has said is found when its sandbox is gone', async () => {
  await api.saveRequest({ id: 'managed', requestType: 'RUN_ONCE' });
  const cmd = 'echo something to remember';
  await api.deploy({ requestId: 'managed', id: 'v1', customExecutorCmd: '/x', resources, executorData: { cmd } });
  await api.saveRequest({ id: 'plain', requestType: 'RUN_ONCE' });
  await api.deploy({ requestId: 'plain', id: 'v1', resources, command: 'echo out; echo err >&2' });
  const [managed, plain] = [await ended('managed'), await ended('plain')];
  const [log] = await logsOf(managed, 1);
  await logsOf(plain, 2);
  const { fullPathToRoot } = await api.get<SandboxListing>(`sandbox/${managed}/browse?path=`);
  rmSync(fullPathToRoot, { recursive: true });
  rmSync(join(fullPathToRoot, '..', plain), { recursive: true });

  const fetched = async (url: string) => {
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    return Buffer.from(await answer.arrayBuffer());
  };
  expect(gunzipSync(await fetched(log!.getUrl!)).toString()).toBe('something to remember\n');
  expect(gunzipSync(await fetched(log!.downloadUrl!)).toString()).toBe('something to remember\n');
  const texts = await Promise.all((await logsOf(plain, 2)).map(async ({ getUrl }) => String(await fetched(getUrl!))));
  expect(texts.toSorted()).toEqual(['err\n', 'out\n']);
  const found = await api.post<ObjstoreSearchResult>('logs/search', { requestsAndDeploys: { plain: ['v1'] } });
  expect(found.results).toHaveLength(2);
  expect(await api.get<ObjstoreLog[]>('logs/request/managed')).toMatchObject([{ key: log!.key }]);
});

test('a link opens nothing else, and nothing when it is changed', async () => {
  const [log] = await api.get<ObjstoreLog[]>('logs/request/managed');
  const changed = async (name: string, value: string) => {
    const url = new URL(log!.getUrl!);
    url.searchParams.set(name, value);
    return (await fetch(url)).status;
  };
  expect(await changed('key', '../secret')).toBe(403);
  expect(await changed('bucket', '..')).toBe(403);
  expect(await changed('expires', '9999999999')).toBe(403);
  expect(await changed('attachment', 'true')).toBe(403);
  expect(await changed('signature', 'x')).toBe(403);
  const saved = await fetch(log!.downloadUrl!, { method: 'HEAD' });
  expect(saved.headers.get('content-disposition')).toMatch(/^attachment; filename=/);
  const shown = await fetch(log!.getUrl!, { headers: { range: 'bytes=0-1' } });
  expect([shown.status, shown.headers.get('content-security-policy')]).toEqual([206, 'sandbox']);
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { insertRequest, insertTask } from '../../../test/support/builders.js';
import { sendBytes } from '../../../test/support/raw-http.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { namesOfBucket, namesOfKey } from '../../core/logs/index.js';
import type { ObjstoreLog, ObjstoreSearchResult } from '../../core/model/logs.js';
import { SettingsFile, type Settings } from '../../platform/settings/settings.js';
import { LogsModule } from './logs.module.js';

/* Two schedulers serve one directory of kept logs from data directories of their own, as behind one service of a cluster. */

const folders = Array.from({ length: 3 }, () => tempFolder());
const [kept, ...dataDirs] = folders.map(({ path }) => path);
let first: RoomApp;
let second: RoomApp;
let taskId: string;

const start = (dataDir: string, settings: Partial<Settings> = {}, databaseUrl?: string): Promise<RoomApp> => {
  const logFolder = { enabled: true, keepDays: 30, maxMegabytes: 100, directory: kept };
  return startRooms({ modules: [LogsModule], settings: { dataDir, logFolder, ...settings }, databaseUrl });
};
const links = async (on: RoomApp): Promise<string[]> => {
  const [listed] = (await on.get<ObjstoreLog[]>(`/api/logs/task/${taskId}`)).body;
  const { body } = await on.call<ObjstoreSearchResult>('POST', '/api/logs/search', { taskIds: [taskId] });
  return [listed!, body.results[0]!].flatMap(({ getUrl, downloadUrl }) => [getUrl!, downloadUrl!]);
};

beforeAll(async () => {
  first = await start(dataDirs[0]!);
  second = await start(dataDirs[1]!, {}, first.databaseUrl);
  const { pool } = first.database;
  await insertRequest(pool);
  const task = await insertTask(pool);
  taskId = task.id;
  const time = new Date(task.startedAt).toISOString();
  const key = `${task.requestId}/${time.slice(0, 4)}/${time.slice(5, 7)}/${taskId}_0-${task.startedAt}-service.log`;
  const path = join(kept!, ...namesOfBucket('logs'), ...namesOfKey(key));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'kept');
});
afterAll(async () => {
  await second.close();
  await first.close();
  for (const folder of folders) folder.remove();
});

test('a link that one scheduler makes leads to it, and the others open it, too', async () => {
  for (const [made, other] of [
    [first, second],
    [second, first],
  ] as const) {
    const urls = await links(made);
    expect(urls).toHaveLength(4);
    for (const url of urls) {
      expect(new URL(url).origin).toBe(made.url);
      for (const { url: root } of [made, other])
        expect(await (await fetch(url.replace(made.url, root))).text()).toBe('kept');
    }
  }
});

test('links lead to the address that was called, or to the one of the settings', async () => {
  const called = new URL(first.url);
  called.hostname = 'localhost';
  const answer = await fetch(`${called.origin}/api/logs/task/${taskId}`);
  const [log] = (await answer.json()) as ObjstoreLog[];
  expect(new URL(log!.getUrl!).origin).toBe(called.origin);

  const { ui, http } = SettingsFile.parse({});
  const given: [changes: Partial<Settings>, path: string, expected: string][] = [
    [{ advertisedUrl: 'https://muster.example' }, '', 'https://muster.example/api/'],
    [{ advertisedUrl: 'https://muster.example/sub' }, '', 'https://muster.example/sub/api/'],
    [
      { advertisedUrl: 'https://muster.example', http: { ...http, contextPath: '/jobs' } },
      '/jobs',
      'https://muster.example/jobs/api/',
    ],
    [{ http: { ...http, contextPath: '/jobs' } }, '/jobs', 'http://127.0.0.1:\\d+/jobs/api/'],
    [
      { advertisedUrl: 'http://10.0.0.1', ui: { ...ui, baseUrl: 'https://muster.example/west/' } },
      '',
      'https://muster.example/west/api/',
    ],
  ];
  for (const [changes, path, expected] of given) {
    const other = await start(dataDirs[0]!, changes, first.databaseUrl);
    onTestFinished(() => other.close());
    const { body } = await other.get<ObjstoreLog[]>(`${path}/api/logs/task/${taskId}`);
    expect(body[0]!.getUrl).toMatch(new RegExp(`^${expected}logs/object\\?`));
  }
});

test.each([
  ['of a port that there is not', 'HTTP/1.1', 'Host: 127.0.0.1:99999\r\n'],
  ['of a name of loopback that no URL has', 'HTTP/1.1', 'Host: xn--a.localhost\r\n'],
  ['that is absent', 'HTTP/1.0', ''],
])('a Host %s gives a link to the address that was called', async (_case, version, host) => {
  const call = `GET /api/logs/task/${taskId} ${version}\r\n${host}Connection: close\r\n\r\n`;
  const answer = await sendBytes(first.url, call);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  const [log] = JSON.parse(/\[.*\]/s.exec(answer)![0]) as ObjstoreLog[];
  expect(new URL(log!.getUrl!).origin).toBe(first.url);
});

test('a key that cannot be kept is no failure of a store', async () => {
  const { pool } = first.database;
  await pool.query('ALTER TABLE log_link_key RENAME TO elsewhere');
  onTestFinished(() => void pool.query('ALTER TABLE elsewhere RENAME TO log_link_key'));
  const other = await start(dataDirs[0]!, {}, first.databaseUrl);
  onTestFinished(() => other.close());
  expect((await other.get(`/api/logs/task/${taskId}`)).status).toBe(500);
});

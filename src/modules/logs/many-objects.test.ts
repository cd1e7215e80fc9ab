import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cpuMillisOf } from '../../../test/support/cpu-time.js';
import { insertRequest, start } from '../../../test/support/builders.js';
import { startObjectStore, type TestObjectStore, withoutObjectStore } from '../../../test/support/object-store.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { namesOfBucket, namesOfKey } from '../../core/logs/index.js';
import type { ContinuationToken, ObjstoreSearchResult } from '../../core/model/logs.js';
import { makeTaskId } from '../../core/task-id.js';
import { Clock } from '../../platform/clock.js';
import type { ErrorDto } from '../../platform/http/error.dto.js';
import { ObjstoreSettings } from '../../platform/settings/objstore-settings.js';
import { LogsModule } from './logs.module.js';

/* Search pages over 10,000 objects, in the folder that keeps logs and in a bucket. */

const day = 24 * 3_600_000;
const now = start + 15 * day;
class FixedClock extends Clock {
  override now(): number {
    return now;
  }
}

const idOf = (requestId: string, startedAt: number): string =>
  makeTaskId({ requestId, deployId: 'd1', startedAt, instanceNo: 1, host: 'host-1', rackId: 'rack-1' }).id;
const kinds = withoutObjectStore === undefined ? (['folder', 'bucket'] as const) : (['folder'] as const);

describe.each(kinds)('in a %s', (kind) => {
  const data = tempFolder();
  const archive = join(data.path, 'agent', 'archive');
  let store: TestObjectStore | undefined;
  let rooms: RoomApp;
  const expected = new Set<string>();

  const put = (key: string): void => {
    if (store) return store.put('logs', key);
    const path = join(archive, ...namesOfBucket('logs'), ...namesOfKey(key));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, 'x');
  };
  const search = (more: object = {}) =>
    rooms.call<ObjstoreSearchResult & ErrorDto>('POST', '/api/logs/search', {
      requestsAndDeploys: { big: [] },
      excludeMetadata: true,
      listOnly: true,
      ...more,
    });

  beforeAll(async () => {
    if (kind === 'bucket') store = await startObjectStore('logs');
    const objstore = store && ObjstoreSettings.parse({ objstoreBucket: 'logs', endpoint: store.url, ...store.keys });
    rooms = await startRooms({
      modules: [LogsModule],
      settings: {
        dataDir: data.path,
        clusterDriver: 'local',
        objstore,
        logFolder: { enabled: true, keepDays: 30, maxMegabytes: 100 },
      },
      clock: new FixedClock(),
    });
    const { pool } = rooms.database;
    await insertRequest(pool, { request: { id: 'big' } });
    await pool.query(
      `INSERT INTO request_history (request_id, created_at, event_type, request) VALUES ('big', $1, 'CREATED', $2)`,
      [new Date(start - 40 * day), JSON.stringify({ id: 'big', requestType: 'SERVICE' })],
    );
    for (let n = 0; n < 10_000; n++) {
      const month = n % 4 === 0 ? '2025/12' : '2026/01';
      // Names that sort otherwise by signs than by bytes, too.
      const name = ['service.log.gz', 'ä é.log', '😀.log', 'ｚ.log', '.hidden', 'a+b%20&c=d.log'][n % 6]!;
      const key = `big/${month}/${idOf('big', start + n)}_0-${start + n}-${name}`;
      expected.add(key);
      put(key);
    }
    // Of others, before and after.
    for (const other of ['bi', 'big-one', 'bigger']) put(`${other}/2026/01/${idOf(other, start)}_0-1-x`);
  }, 120_000);
  afterAll(async () => {
    await rooms.close();
    await store?.close();
    data.remove();
  });

  test.each([1_000, 333])(
    'pages of %s give each of them once, in bounded memory and time',
    async (maxPerPage) => {
      const found: string[] = [];
      let [pages, slowest, largest] = [0, 0, 0];
      const before = process.memoryUsage.rss();
      let continuationTokens: Record<string, ContinuationToken> = {};
      for (let lastPage = false; !lastPage; pages++) {
        let page!: Awaited<ReturnType<typeof search>>;
        slowest = Math.max(
          slowest,
          await cpuMillisOf(async () => (page = await search({ maxPerPage, continuationTokens }))),
        );
        const { status, body } = page;
        expect([status, body.message]).toEqual([200, undefined]);
        largest = Math.max(largest, body.results.length);
        found.push(...body.results.map(({ key }) => key));
        ({ continuationTokens, lastPage } = body);
      }
      const grown = Math.round((process.memoryUsage.rss() - before) / (1 << 20));
      console.log(
        `${kind}: ${pages} pages of 10,000 objects, the slowest ${Math.round(slowest)} ms of CPU, ${grown} MB more`,
      );
      expect(found).toHaveLength(10_000);
      expect(new Set(found)).toEqual(expected);
      // Two months are asked at once.
      expect(largest).toBeLessThanOrEqual(2 * maxPerPage);
      expect(slowest).toBeLessThan(2_500);
      expect(grown).toBeLessThan(150);
    },
    120_000,
  );

  test('the same page is the same again, and no page is longer than 1000 of each place', async () => {
    const [first, second] = [await search({ maxPerPage: 50 }), await search({ maxPerPage: 50 })];
    expect(first.body).toEqual(second.body);
    const times = first.body.results.map(({ lastModified }) => lastModified);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const { continuationTokens } = first.body;
    const next = await search({ maxPerPage: 50, continuationTokens });
    expect((await search({ maxPerPage: 50, continuationTokens })).body).toEqual(next.body);
    expect((await search({ maxPerPage: 2_147_483_647 })).body.results.length).toBeLessThanOrEqual(2_000);
  });

  test('tokens that no page has answered are refused', async () => {
    const { body } = await search({ maxPerPage: 10 });
    const [[name, token]] = Object.entries(body.continuationTokens) as [[string, ContinuationToken]];
    const prefix = name.replace(/^default-logs-/, '');
    for (const value of [
      '',
      'x',
      '../../etc',
      'bigger/2026/01/x',
      'big-one/',
      prefix.slice(0, -1),
      `${prefix}\0`,
      `${prefix}${'ä'.repeat(1_000)}`,
      7,
      { a: 1 },
      ['x'],
      'x'.repeat(100_000),
    ]) {
      const refused = await search({ continuationTokens: { [name]: { value, lastPage: false } } });
      expect([value, refused.status]).toEqual([value, 400]);
      expect(refused.body.errors?.[0]?.field).toMatch(/^continuationTokens/);
    }
    for (const token of [null, 'x', 7, {}, { value: 'x' }, { value: 'x', lastPage: 'no' }])
      expect([token, (await search({ continuationTokens: { [name]: token } })).status]).toEqual([
        token,
        token === null ? 200 : 400,
      ]);
    for (const continuationTokens of [7, 'x', []])
      expect((await search({ continuationTokens })).body.errors?.[0]?.field).toBe('continuationTokens');
    // What a page says of a place that nothing was asked of, as clients of other languages send it.
    const unasked = {
      [name]: { value: null, lastPage: false },
      'default-logs-elsewhere/': { value: 'x', lastPage: false },
    };
    expect((await search({ maxPerPage: 10, continuationTokens: unasked })).status).toBe(200);
    const signs = { ...token, value: `${prefix}\u{1f600}%00<a>&` };
    expect((await search({ continuationTokens: { [name]: signs } })).status).toBe(200);
    for (const sign of ['\ud800', '\r\n', '\u202e'])
      expect(
        (await search({ continuationTokens: { [name]: { ...token, value: prefix + sign } } })).status,
      ).toBeLessThan(500);
  });
});

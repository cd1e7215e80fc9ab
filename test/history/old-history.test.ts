import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { join } from 'node:path';
import { compress } from 'snappyjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTaskId } from '../../src/core/task-id.js';
import { makeDeploy, makeRequest, makeTask, start } from '../support/builders.js';
import { spawnOnBuild } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/*
 * The history of an older installation moves in: a dump as CSV is imported, then converted, by processes that are killed
 * half-way. HISTORY_ROWS sets how many tasks it has.
 */
const tasks = Number(process.env['HISTORY_ROWS'] ?? 20_000);
/** Every so many-th payload is broken. */
const brokenEvery = 1_000;
const changes = 200;
const deploys = 100;
const batchSize = 100;
const program = new URL('../support/programs/old-history.ts', import.meta.url);

let db: TestDatabase;
let dump: { path: string; remove: () => void };
beforeAll(async () => {
  db = await createTestDatabase();
  dump = tempFolder();
  await writeTasks(join(dump.path, 'taskHistory.csv'));
  writeOthers();
}, 120_000);
afterAll(async () => {
  await db.drop();
  dump.remove();
});

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const packed = (document: object): Buffer => Buffer.from(compress(Buffer.from(JSON.stringify(document))));
const isBroken = (n: number): boolean => n % brokenEvery === 0;

/** The notations in which databases write a payload, in turn. */
function payload(n: number, document: object): string {
  if (isBroken(n)) return '\\x00ff00ff';
  if (n % 3 === 0) return quoted(JSON.stringify(document));
  return n % 3 === 1 ? `\\x${packed(document).toString('hex')}` : packed(document).toString('base64');
}

async function writeTasks(path: string): Promise<void> {
  const file = createWriteStream(path);
  file.write('taskId,requestId,lastTaskStatus,updatedAt,bytes,runId,deployId,host,startedAt,purged,json\n');
  const sample = JSON.parse(JSON.stringify(makeTask())) as object;
  for (let n = 1; n <= tasks; n++) {
    const requestId = `request-${n % 97}`;
    const taskId = makeTaskId({
      requestId,
      deployId: 'd1',
      startedAt: start + n,
      instanceNo: 1,
      host: 'h',
      rackId: 'r',
    });
    const document = { task: { ...sample, taskId }, taskUpdates: [], directory: `/sandbox/${n}` };
    const line = `${taskId.id},${requestId},TASK_FINISHED,2026-02-01 12:00:00,${payload(n, document)},run-${n},d1,h,\\N,0,\n`;
    if (!file.write(line)) await once(file, 'drain');
  }
  file.end();
  await finished(file);
}

function writeOthers(): void {
  const times = (count: number, line: (n: number) => string): string =>
    Array.from({ length: count }, (_, index) => line(index + 1)).join('\n');
  const request = (n: number) => packed(makeRequest({ id: `request-${n}` })).toString('hex');
  writeFileSync(
    join(dump.path, 'requestHistory.csv'),
    `requestId,createdAt,requestState,f_user,request,message,json\n${times(changes, (n) => `request-${n},2026-01-01 00:00:00.${n + 100},CREATED,ada,${request(n)},,`)}`,
  );
  const deploy = (n: number) => quoted(JSON.stringify({ deployMarker: { deployId: `d${n}` }, deploy: makeDeploy() }));
  writeFileSync(
    join(dump.path, 'deployHistory.csv'),
    `requestId,deployId,createdAt,f_user,deployStateAt,deployState,bytes,message,json\n${times(deploys, (n) => `web,d${n},2026-01-01 00:00:00,ada,2026-01-01 00:01:00,SUCCEEDED,,,${deploy(n)}`)}`,
  );
}

const count = async (sql: string): Promise<number> =>
  Number((await db.pool.query(`SELECT count(*) FROM ${sql}`))[0].count);

/** Kills a process of the program once `isHalfWay`, and lets another one do it to the end. */
async function killedAndRepeated(args: string[], isHalfWay: () => Promise<boolean>): Promise<string[]> {
  const first = await spawnOnBuild(program, [db.url, ...args]);
  await waitFor('the first process to be half-way', isHalfWay, { timeoutMillis: 120_000 });
  await first.kill();
  expect(first.lines).not.toContain('done');
  const second = await spawnOnBuild(program, [db.url, ...args]);
  await second.line('done', 240_000);
  return second.lines;
}

test('an import that is killed half-way and repeated copies every row once', async () => {
  const lines = await killedAndRepeated(['import', dump.path], async () => (await count('task_history')) > tasks / 3);
  expect(await count('task_history')).toBe(tasks);
  expect(await count('request_history')).toBe(changes);
  expect(await count('deploy_history')).toBe(deploys);
  const { imported, alreadyThere, unreadable } = JSON.parse(lines[0]!.slice('taskHistory '.length)) as Record<
    string,
    number
  >;
  expect(imported! + alreadyThere!).toBe(tasks);
  expect(alreadyThere).toBeGreaterThan(tasks / 3);
  expect(unreadable).toBe(0);
  expect(await count('task_history WHERE data IS NOT NULL')).toBe(0);
}, 300_000);

test('a backfill that is killed half-way goes on where it was: nothing is lost, nothing is done twice', async () => {
  await db.pool.query('INSERT INTO history_backfill (batch_size, started_at) VALUES ($1, now())', [batchSize]);
  const progress = async () => (await db.pool.query('SELECT * FROM history_backfill'))[0];
  await killedAndRepeated(['backfill'], async () => (await progress()).tasks_converted > tasks / 3);
  const broken = Math.floor(tasks / brokenEvery);
  // Each row counts where it is converted, in the same transaction: converted twice it would count twice.
  expect(await progress()).toMatchObject({
    tasks_converted: tasks - broken,
    requests_converted: changes,
    deploys_converted: deploys,
    unreadable: broken,
    finished_at: expect.any(Date),
  });
  expect(await count(`task_history WHERE data->'task'->'taskId'->>'id' = task_id AND bytes IS NULL`)).toBe(
    tasks - broken,
  );
  expect(await count(`(SELECT DISTINCT data->>'directory' FROM task_history WHERE data IS NOT NULL) AS each`)).toBe(
    tasks - broken,
  );
  expect(await count(`request_history WHERE request->>'id' = request_id AND bytes IS NULL`)).toBe(changes);
  expect(await count(`deploy_history WHERE data->'deployMarker'->>'deployId' = deploy_id AND bytes IS NULL`)).toBe(
    deploys,
  );
  expect(await count('unreadable_history')).toBe(broken);
  expect(
    await count(
      `unreadable_history u JOIN task_history h ON u.key = h.request_id || '/' || h.task_id AND h.data IS NULL`,
    ),
  ).toBe(broken);
}, 300_000);

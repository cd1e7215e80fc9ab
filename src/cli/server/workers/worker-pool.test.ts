import { get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { build } from 'esbuild';
import { AggregatorRegistry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { StartError } from '../../../platform/errors.js';
import type { ProcessRole } from '../../../platform/process/process-role.js';
import { SettingsFile } from '../../../platform/settings/settings.js';
import { type PoolLimits, WorkerPool } from './worker-pool.js';

const folder = tempFolder();
/** Bundled once: to compile it in each of some thirty processes would take longer than all tests. */
const program = { exec: join(folder.path, 'worker.cjs'), args: [join(folder.path, 'server.cjs')] };
beforeAll(async () => {
  const [worker, server] = ['worker.ts', '../../../../test/support/programs/api-worker.ts'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  await build({
    entryPoints: { worker: worker!, server: server! },
    outdir: folder.path,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
});
afterAll(folder.remove);

const pools: WorkerPool[] = [];
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.stop()));
});

function poolOf(count: number, limits: Partial<PoolLimits> = {}, dataDir = '/data'): WorkerPool {
  const parsed = SettingsFile.parse({ http: { maxConcurrentCalls: 100 } });
  const settings = { ...parsed, port: 0, host: '127.0.0.1', dataDir, databaseUrl: '', clusterDriver: 'local' as const };
  const pool = new WorkerPool(
    count,
    { settings, agentFolder: '' },
    { program, limits: { firstPauseMillis: 20, longestPauseMillis: 50, ...limits } },
  );
  pools.push(pool);
  return pool;
}

async function start(count: number, limits?: Partial<PoolLimits>): Promise<WorkerPool> {
  const pool = poolOf(count, limits);
  const { serving } = await pool.start('leader', { port: 1, key: 'key' });
  await serving;
  return pool;
}

/** On a connection of its own. Fails when that breaks off. */
const call = (pool: WorkerPool, path = '/'): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = get({ host: '127.0.0.1', port: pool.port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.once('close', () => (response.complete ? resolve(text) : reject(new Error('broken off'))));
    });
    sent.once('error', reject);
  });
const counter = async (pool: WorkerPool): Promise<number> => {
  const registry = AggregatorRegistry.aggregate(await pool.metrics());
  return Number(/^calls_total (\d+)$/m.exec(await registry.metrics())?.[1]);
};
const messagesOf = ({ role }: WorkerPool) => (role as Extract<ProcessRole, { kind: 'leader' }>).messages;

function logged(): string[] {
  const lines: string[] = [];
  const log = (line: unknown): void => void lines.push(String(line));
  Logger.overrideLogger({ log, error: log, warn: log });
  onTestFinished(() => Logger.overrideLogger(false));
  return lines;
}

test('connections go to the workers in turn, which share the limits of the instance', async () => {
  const pool = await start(3);
  const answered = [];
  for (let no = 0; no < 6; no++) answered.push(Number(await call(pool)));
  expect(new Set(answered.slice(0, 3))).toEqual(new Set(pool.pids));
  expect(answered.slice(3)).toEqual(answered.slice(0, 3));
  expect(await call(pool, '/limit')).toBe('34');
});

test('a frozen worker gets one connection, which another worker answers once the frozen one has ended', async () => {
  const pool = await start(2);
  const [frozen, other] = pool.pids;
  process.kill(frozen!, 'SIGSTOP');
  let answered = 0;
  const calls = Array.from({ length: 6 }, () =>
    call(pool).then((pid) => void (answered += Number(pid === `${other}`))),
  );
  await waitFor('all but one', () => answered === 5);
  process.kill(frozen!, 'SIGKILL');
  await Promise.all(calls);
  expect(answered).toBe(6);
});

test('a frozen worker is replaced, and its counters stay', async () => {
  const lines = logged();
  const pool = await start(2, { heartbeatMillis: 100, missedHeartbeats: 20, replyMillis: 200 });
  for (let no = 0; no < 4; no++) await call(pool);
  expect(await counter(pool)).toBe(4);
  const [frozen] = pool.pids;
  process.kill(frozen!, 'SIGSTOP');
  const counted: number[] = [];
  await waitFor('its replacement', async () => {
    counted.push(await counter(pool));
    return pool.counts().serving === 2 && !pool.pids.includes(frozen!);
  });
  expect(new Set([...counted, await counter(pool)])).toEqual(new Set([4]));
  expect(pool.counts()).toEqual({ serving: 2, missing: 0, ended: 1 });
  expect(lines[0]).toBe(`API worker 1 (process ${frozen}) does not answer; restarting it`);
});

test('while no worker serves, or all are busy, connections wait up to a limit', async () => {
  // The second worker that ends is replaced after a pause.
  const maxWaiting = { unserved: 3, served: 4 };
  const pool = await start(1, { maxWaiting, firstPauseMillis: 2_000, longestPauseMillis: 2_000 });
  for (const ended of [1, 2]) {
    process.kill(await waitFor('a worker', () => pool.pids[0]), 'SIGKILL');
    await waitFor('its end', () => pool.counts().ended === ended);
  }
  const unserved = await Promise.all(Array.from({ length: 5 }, () => call(pool).catch(() => 'refused')));
  const [pid] = pool.pids;
  expect(unserved.toSorted()).toEqual([`${pid}`, `${pid}`, `${pid}`, 'refused', 'refused']);
  process.kill(pid!, 'SIGSTOP');
  let refused = 0;
  const busy = Array.from({ length: 7 }, () => call(pool).catch(() => void refused++));
  await waitFor('two to be refused', () => refused === 2);
  process.kill(pid!, 'SIGCONT');
  expect((await Promise.all(busy)).filter((answer) => answer === `${pid}`)).toHaveLength(5);
});

test('workers that are killed among calls leave no caller without an answer or an end', async () => {
  const pool = await start(2);
  let goesOn = true;
  let answered = 0;
  let broken = 0;
  const callers = Array.from({ length: 8 }, async () => {
    while (goesOn)
      await call(pool).then(
        () => answered++,
        () => broken++,
      );
  });
  for (let kills = 0; kills < 2; kills++) {
    const before = answered;
    await waitFor('calls', () => answered > before + 50 && pool.counts().serving === 2);
    process.kill(pool.pids[kills]!, 'SIGKILL');
    await waitFor('its replacement', () => pool.counts().ended === kills + 1 && pool.counts().serving === 2);
  }
  goesOn = false;
  // None hangs.
  await Promise.all(callers);
  // A worker takes one connection at a time, and may die of it; the calls that it has read break off.
  expect(broken).toBeLessThanOrEqual(2 * 8);
});

test('a worker that ends again and again is told of once, and started ever later', async () => {
  const lines = logged();
  const pool = await start(2, { steadyMillis: 600_000 });
  const steady = pool.pids[1];
  for (let kills = 1; kills <= 4; kills++) {
    const victim = await waitFor(
      'a victim',
      () => pool.counts().serving === 2 && pool.pids.find((pid) => pid !== steady),
    );
    process.kill(victim, 'SIGKILL');
    await waitFor('its end', () => pool.counts().ended === kills);
    expect(await call(pool)).not.toBe(`${victim}`);
  }
  await waitFor('it to serve', () => pool.counts().serving === 2);
  expect(lines.filter((line) => line.includes('restarting it'))).toHaveLength(1);
  expect(lines.filter((line) => line.includes('keeps ending; retrying after 20 ms'))).toHaveLength(1);
  expect(lines.at(-1)).toMatch(/^API worker 1 serves again \(process \d+\)$/);
});

test('a worker that cannot start fails the start, with its own words', async () => {
  const broken = poolOf(2, {}, '/broken');
  const { serving } = await broken.start('leader', { port: 1, key: 'key' });
  const failure: unknown = await serving.catch((cause: unknown) => cause);
  expect(failure).toBeInstanceOf(StartError);
  expect(String(failure)).toContain('No data in /broken');
});

test('what a worker publishes all others have before it goes on; one that does not reply is not waited for', async () => {
  const pool = await start(3, { replyMillis: 200 });
  const received: string[] = [];
  messagesOf(pool).subscribe('token-created', ({ owner }) => void received.push(owner));
  const publisher = pool.pids.indexOf(Number(await call(pool, '/publish'))) + 1;
  const told = { owner: `of worker ${publisher}` };
  expect(received).toEqual([told.owner]);
  const others = await Promise.all([1, 2, 3].map(() => call(pool, '/received')));
  expect(others.map((text) => JSON.parse(text) as unknown).toSorted()).toEqual([[], [told], [told]]);
  messagesOf(pool).publish('token-created', { owner: 'of the leader' });
  await messagesOf(pool).delivered();
  for (const text of await Promise.all([1, 2, 3].map(() => call(pool, '/received'))))
    expect(JSON.parse(text)).toContainEqual({ owner: 'of the leader' });
  const [frozen] = pool.pids;
  process.kill(frozen!, 'SIGSTOP');
  messagesOf(pool).publish('token-created', { owner: 'of the leader' });
  await messagesOf(pool).delivered();
  process.kill(frozen!, 'SIGKILL');
});

test('a stop ends workers with the answers to the calls they have; signals but SIGKILL have no effect before', async () => {
  const pool = await start(2);
  const { pids } = pool;
  const held = [call(pool, '/hold'), call(pool, '/hold')];
  await waitFor('both calls', async () => (await counter(pool)) === 2);
  for (const pid of pids) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
  expect(pids).toContain(Number(await call(pool)));
  await pool.stop();
  expect(await Promise.all(held)).toEqual(['held', 'held']);
  expect(pool.pids).toEqual([]);
  await expect(call(pool)).rejects.toThrow('ECONNREFUSED');
});

test('a stop before the workers have started ends them, and those that do not end in time are ended', async () => {
  const pool = poolOf(2);
  const { serving } = await pool.start('leader', { port: 1, key: 'key' });
  const waiting = connect(pool.port!, '127.0.0.1').on('error', () => undefined);
  const ended = new Promise((resolve) => waiting.once('close', resolve));
  waiting.resume();
  const [started] = await Promise.all([serving.catch(String), pool.stop()]);
  expect(started).toBe('Error: Stopped');
  await ended;
  const slow = await start(2, { stopMillis: 100 });
  for (const pid of slow.pids) process.kill(pid, 'SIGSTOP');
  await slow.stop();
  expect(slow.pids).toEqual([]);
});

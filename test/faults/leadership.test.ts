import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabasePool } from '../../src/platform/database/pool.js';
import { spawnOnBuild, type TestProcess } from '../support/spawn.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';

/** Two instances in processes of their own compete for one database and write as fast as they may. */
const program = new URL('../support/programs/contender.ts', import.meta.url);
/** It compiles itself first, which takes its time on a busy machine. */
const startMillis = 60_000;
const processes: TestProcess[] = [];
let url: string;
let remove: () => Promise<void>;
let pool: DatabasePool;

beforeEach(async () => {
  ({ url, remove } = await createDatabase());
  pool = await new DatabasePool({ url, use: 'api', poolSize: 2 }).open();
  await pool.query(`CREATE TABLE written (id bigint GENERATED ALWAYS AS IDENTITY, name text, epoch bigint,
    at timestamptz DEFAULT clock_timestamp())`);
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((contender) => contender.kill()));
  await pool.close();
  await remove();
});

async function contender(name: string): Promise<TestProcess> {
  const started = await spawnOnBuild(program, [url, name]);
  processes.push(started);
  return started;
}

async function leaderAndFollower(): Promise<[TestProcess, TestProcess]> {
  const first = await contender('first');
  await first.line('gained ', startMillis);
  await waitFor('rows of the first', () => written('first'));
  const second = await contender('second');
  // It has connected and competes in vain.
  await waitFor(
    'the second to compete',
    async () => {
      const [row] = await pool.query(
        `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'muster lease'`,
      );
      return row.n === 2;
    },
    { timeoutMillis: startMillis },
  );
  return [first, second];
}

const written = async (name: string): Promise<number> =>
  (await pool.query('SELECT count(*) AS n FROM written WHERE name = $1', [name]))[0].n;

/** Rows of an epoch that came after a row of a later epoch. */
const lateRows = (): Promise<unknown[]> =>
  pool.query(`SELECT * FROM (SELECT *, max(epoch) OVER (ORDER BY id) AS newest FROM written) w WHERE epoch < newest`);

describe('a leader that', { timeout: 180_000 }, () => {
  test('is frozen is replaced within 5 s, and writes nothing after it thaws', async () => {
    const [first, second] = await leaderAndFollower();
    first.child.kill('SIGSTOP');
    const frozenAt = performance.now();
    await second.line('gained ');
    expect(performance.now() - frozenAt).toBeLessThan(5_000);
    const ofFirst = await written('first');
    await waitFor('rows of the second', () => written('second'));

    first.child.kill('SIGCONT');
    await first.line('lost');
    expect(await written('first')).toBe(ofFirst);
    expect(await lateRows()).toEqual([]);
    const ofSecond = await written('second');
    await waitFor('the second to write on', async () => (await written('second')) > ofSecond);
  });

  test('is killed is replaced within 5 s', async () => {
    const [first, second] = await leaderAndFollower();
    await first.kill('SIGKILL');
    const killedAt = performance.now();
    await second.line('gained ');
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    await waitFor('rows of the second', () => written('second'));
    expect(await lateRows()).toEqual([]);
  });

  test('stops in order hands over at once, its duties ended first', async () => {
    const [first, second] = await leaderAndFollower();
    const ended = waitFor('the end', () => first.child.exitCode !== null);
    first.child.kill('SIGTERM');
    const stoppedAt = performance.now();
    await second.line('gained ');
    // Without the notification it would take the rest of the lease, up to 3 s.
    expect(performance.now() - stoppedAt).toBeLessThan(1_000);
    await ended;
    expect(first.lines).toContain('lost');
    expect(first.child.exitCode).toBe(0);
    expect(await lateRows()).toEqual([]);
  });

  test('keeps a transaction open when it freezes does not keep its successor waiting', async () => {
    const [first, second] = await leaderAndFollower();
    // Freezes between two statements of a transaction sooner or later; ten times is enough to meet an open one.
    for (let attempt = 0; attempt < 10; attempt++) {
      first.child.kill('SIGSTOP');
      const [open] = await pool.query(
        `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`,
      );
      if (open.n > 0) break;
      first.child.kill('SIGCONT');
    }
    first.child.kill('SIGSTOP');
    const frozenAt = performance.now();
    await second.line('gained ');
    expect(performance.now() - frozenAt).toBeLessThan(6_000);
    first.child.kill('SIGCONT');
    await first.line('lost');
    expect(await lateRows()).toEqual([]);
  });
});

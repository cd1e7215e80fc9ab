import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/support/test-database.js';
import { FixedLeadership } from '../../../test/support/fixed-leadership.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { UserSettingsEntity } from '../../modules/users/user-settings.entity.js';
import { isPassing } from './database-errors.js';
import { NotLeaderError } from '../leadership/leadership.js';
import { Database } from './database.js';
import { rows } from './sql.js';
import type { Transaction } from './transaction.js';

let test_: TestDatabase;
let db: Database;
beforeAll(async () => {
  test_ = await createTestDatabase();
  db = test_.database;
  await test_.pool.query('CREATE TABLE written (id int PRIMARY KEY, n int)');
});
afterAll(() => test_.drop());

const inEpoch = (epoch: number): [Database, FixedLeadership] => {
  const leadership = new FixedLeadership(epoch);
  return [new Database(db.pool, db.leaderPool, leadership), leadership];
};
const rowCount = async (id: number): Promise<number> =>
  (await test_.pool.query('SELECT count(*) AS n FROM written WHERE id = $1', [id]))[0].n;

const settingsOf = (userId: string): UserSettingsEntity => ({ userId, starredRequestIds: [], updatedAt: new Date(0) });
const stored = (userId: string): Promise<number> => db.pool.getRepository(UserSettingsEntity).countBy({ userId });

describe('a transaction of the leader', () => {
  test('is refused, having written nothing, when this instance does not lead', async () => {
    const [notLeading, leadership] = inEpoch(1);
    leadership.stepDown();
    await expect(notLeading.leaderTransaction((tx) => tx.query('INSERT INTO written VALUES (1)'))).rejects.toThrow(
      NotLeaderError,
    );
    expect(await rowCount(1)).toBe(0);
  });

  test('of an epoch that is over is refused, and the leadership with it', async () => {
    const [former, leadership] = inEpoch(0);
    await expect(former.leaderTransaction((tx) => tx.query('INSERT INTO written VALUES (2)'))).rejects.toThrow(
      'epoch 0 is over',
    );
    expect(leadership.current()).toBeUndefined();
    expect(await rowCount(2)).toBe(0);
  });

  test('whose connection breaks between two statements says so, and not what the driver did with it', async () => {
    const failed = db.leaderTransaction(async (tx) => {
      const [{ pid }] = await tx.query('SELECT pg_backend_pid() AS pid');
      await test_.pool.query('SELECT pg_terminate_backend($1)', [pid]);
      await waitFor('the connection to be gone', async () => {
        const [{ n }] = await test_.pool.query('SELECT count(*)::int AS n FROM pg_stat_activity WHERE pid = $1', [pid]);
        return n === 0;
      });
      await tx.query('SELECT 1').catch(() => undefined);
      await tx.query('SELECT 1');
    });
    const cause: unknown = await failed.catch((thrown: unknown) => thrown);
    // The server has said so, or only the socket tells.
    expect(String(cause)).toMatch(/terminat|write EPIPE|read ECONNRESET/i);
    expect(String(cause)).not.toContain('QueryRunner');
    expect(isPassing(cause)).toBe(true);
  });

  test('makes a takeover wait until it has ended', async () => {
    let takenOver = false;
    let takeover: Promise<void> | undefined;
    await db.leaderTransaction(async (tx) => {
      takeover = test_.pool.query('UPDATE leader_epoch SET epoch = epoch').then(() => void (takenOver = true));
      await waitFor('the takeover to wait', async () => {
        const [row] = await test_.pool.query(
          `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return row.n === 1;
      });
      await tx.query('INSERT INTO written VALUES (3)');
      expect(takenOver).toBe(false);
    });
    await takeover;
    expect(await rowCount(3)).toBe(1);
  });

  test('that idles is ended by the server, so that a frozen leader holds no lock', async () => {
    const idle = db.leaderTransaction(async (tx) => {
      await tx.query('INSERT INTO written VALUES (4)');
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await tx.query('SELECT 1');
    });
    const cause = await idle.catch((error: unknown) => error);
    expect(isPassing(cause), String(cause)).toBe(true);
    expect(await rowCount(4)).toBe(0);
  });
});

describe('a transaction', () => {
  test('of the API that idles is ended by the server too, and of those that wait for it no more than one comes before the next leader', async () => {
    await test_.pool.query('INSERT INTO written VALUES (5, 0)');
    // Calls of an instance that freezes at this moment: whichever gets the row would never go on.
    const frozen = Array.from({ length: 4 }, () =>
      db
        .transaction(async (tx) => {
          await tx.query('UPDATE written SET n = n + 1 WHERE id = 5');
          await new Promise((resolve) => setTimeout(resolve, 7_000));
          await tx.query('SELECT 1');
        })
        .catch((cause: unknown) => cause),
    );
    await waitFor('all of them to ask for the row', async () => {
      const [row] = await test_.pool.query(
        `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return row.n === 3;
    });
    const frozenAt = performance.now();
    await waitFor('the next leader to get it', async () => {
      await db.leaderTransaction((tx) => tx.query('UPDATE written SET n = 100 WHERE id = 5'));
      return true;
    });
    // Twice the time after which an idle one is ended, and not once for each of the four.
    expect(performance.now() - frozenAt).toBeLessThan(7_500);
    expect((await Promise.all(frozen)).map(isPassing)).toEqual([true, true, true, true]);
    expect(await test_.pool.query('SELECT n FROM written WHERE id = 5')).toEqual([{ n: 100 }]);
  });

  test.each(['before its next statement', 'during a statement', 'before its commit'])(
    'whose connection breaks %s fails as "the database is away"',
    async (moment) => {
      const failing = db.transaction(async (tx) => {
        const [{ pid }] = (await tx.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
        const sleeping = moment === 'during a statement' ? tx.query('SELECT pg_sleep(10)') : undefined;
        // It may fail before anything waits for it.
        sleeping?.catch(() => undefined);
        await test_.pool.query('SELECT pg_terminate_backend($1)', [pid]);
        if (sleeping) return sleeping;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return moment === 'before its commit' ? undefined : tx.query('SELECT 1');
      });
      const cause = await failing.catch((error: unknown) => error);
      expect(isPassing(cause), String(cause)).toBe(true);
    },
  );

  test('that runs into a deadlock is repeated', async () => {
    await test_.pool.query('INSERT INTO written VALUES (10, 0), (11, 0)');
    const add = (first: number, second: number) =>
      db.transaction(async (tx) => {
        await tx.query('UPDATE written SET n = n + 1 WHERE id = $1', [first]);
        await new Promise((resolve) => setTimeout(resolve, 50));
        await tx.query('UPDATE written SET n = n + 1 WHERE id = $1', [second]);
      });
    await Promise.all([add(10, 11), add(11, 10)]);
    expect(await test_.pool.query('SELECT n FROM written WHERE id IN (10, 11)')).toEqual([{ n: 2 }, { n: 2 }]);
  });

  test('that fails is undone and not repeated', async () => {
    let attempts = 0;
    const failing = db.transaction(async (tx) => {
      attempts += 1;
      await tx.query('INSERT INTO written VALUES (20)');
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect([attempts, await rowCount(20)]).toEqual([1, 0]);
  });

  test('a snapshot sees one moment and cannot write', async () => {
    await db.snapshot(async (tx) => {
      const before = await tx.query('SELECT count(*) AS n FROM written');
      await test_.pool.query('INSERT INTO written VALUES (30)');
      expect(await tx.query('SELECT count(*) AS n FROM written')).toEqual(before);
    });
    const writing = db.snapshot((tx) => tx.query('INSERT INTO written VALUES (31)'));
    await expect(writing).rejects.toThrow('read-only transaction');
  });

  test.each<[string, (tx: Transaction) => Promise<unknown>]>([
    ['at first', (tx) => tx.query('INSERT INTO written VALUES (40)')],
    ['after a look', (tx) => tx.query('SELECT 1').then(() => tx.query('INSERT INTO written VALUES (40)'))],
    [
      'beside a look',
      (tx) => Promise.all([tx.query('SELECT 1 FOR UPDATE'), tx.query('INSERT INTO written VALUES (40)')]),
    ],
    ['by TypeORM', (tx) => tx.getRepository(UserSettingsEntity).insert(settingsOf('never'))],
    [
      'by TypeORM beside a look',
      (tx) => Promise.all([tx.query('SELECT 1'), tx.getRepository(UserSettingsEntity).insert(settingsOf('never'))]),
    ],
  ])('whose beginning fails writes nothing: %s', async (_when, work) => {
    const failing = db.pool.transaction(work, 'START TRANSACTION ISOLATION LEVEL NONE');
    await expect(failing).rejects.toThrow('syntax error');
    expect(await rowCount(40)).toBe(0);
    expect(await stored('never')).toBe(0);
  });

  test('fails of what failed first, where statements go out together', async () => {
    const failing = db.transaction(async (tx) => {
      const late = async (): Promise<unknown> => {
        const found: unknown = await rows(tx, 'SELECT 1 / 0');
        return found;
      };
      await Promise.all([late().then((found) => found), tx.query('INSERT INTO written VALUES (60)')]);
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await rowCount(60)).toBe(0);
  });

  test('of which one part has failed writes nothing of what another part still sends', async () => {
    let late: Promise<unknown> | undefined;
    const failing = db.transaction(async (tx) => {
      const first = tx.query('SELECT 1 / 0') as Promise<unknown>;
      late = first.catch(async () => {
        // The end of the transaction is on its way by then, and not answered yet.
        for (let turn = 0; turn < 50; turn++) await undefined;
        return tx.query('INSERT INTO written VALUES (61)');
      });
      await Promise.all([first, late]);
    });
    await expect(failing).rejects.toThrow('division by zero');
    await expect(late).rejects.toThrow('division by zero');
    expect(await rowCount(61)).toBe(0);
  });

  test('that goes on after a statement has failed is not taken for committed', async () => {
    const failing = db.transaction(async (tx) => {
      await tx.query('INSERT INTO written VALUES (62)');
      await tx.query('SELECT 1 / 0').catch(() => undefined);
      return 'done';
    });
    await expect(failing).rejects.toThrow('division by zero');
    expect(await rowCount(62)).toBe(0);
  });

  test('gives its connection back whatever becomes of it', async () => {
    for (let time = 0; time < 30; time++) {
      const failing = db.transaction(async (tx) => {
        await tx.query('INSERT INTO written VALUES (50)');
        throw new Error('no');
      });
      await expect(failing).rejects.toThrow('no');
    }
    expect(await rowCount(50)).toBe(0);
    expect(db.pool.figures()).toMatchObject({ busy: 0, waiting: 0 });
  });

  test('tells what follows its commit once, after it, and nothing without it', async () => {
    const told: string[] = [];
    await db.transaction(async (tx) => {
      tx.afterCommit(() => told.push('committed'));
      await tx.query('INSERT INTO written VALUES (70)');
      expect(told).toEqual([]);
    });
    const undone = db.transaction(async (tx) => {
      tx.afterCommit(() => told.push('undone'));
      await tx.query('INSERT INTO written VALUES (70)');
    });
    await expect(undone).rejects.toThrow('duplicate key');
    expect(told).toEqual(['committed']);
  });
});

describe("TypeORM's part of a transaction", () => {
  test('is committed and undone with what is sent beside it', async () => {
    await db.transaction(async (tx) => {
      await tx.getRepository(UserSettingsEntity).insert(settingsOf('both'));
      await tx.query('INSERT INTO written VALUES (80)');
      // Outside nothing is seen yet, and inside all of it.
      expect([await stored('both'), await rowCount(80)]).toEqual([0, 0]);
      expect(await tx.getRepository(UserSettingsEntity).countBy({ userId: 'both' })).toBe(1);
    });
    expect([await stored('both'), await rowCount(80)]).toEqual([1, 1]);
    const failing = db.transaction(async (tx) => {
      await tx.getRepository(UserSettingsEntity).delete({ userId: 'both' });
      await tx.query('INSERT INTO written VALUES (80)');
    });
    await expect(failing).rejects.toThrow('duplicate key');
    expect(await stored('both')).toBe(1);
  });

  test('begins no transaction of its own', async () => {
    const saving = db.transaction((tx) => tx.getRepository(UserSettingsEntity).save(settingsOf('saved')));
    await expect(saving).rejects.toThrow('A transaction has begun already');
    expect(await stored('saved')).toBe(0);
  });

  test('that has failed lets nothing be committed, whatever is made of its failure', async () => {
    const failing = db.transaction(async (tx) => {
      await tx.query('INSERT INTO written VALUES (81)');
      const users = tx.getRepository(UserSettingsEntity);
      await users.insert(settingsOf('twice'));
      await users.insert(settingsOf('twice')).catch(() => undefined);
    });
    await expect(failing).rejects.toThrow('duplicate key');
    expect([await rowCount(81), await stored('twice')]).toEqual([0, 0]);
  });

  test('sends nothing after its end', async () => {
    const kept = await db.transaction(async (tx) => tx.getRepository(UserSettingsEntity));
    await expect(kept.insert(settingsOf('late'))).rejects.toThrow('already released');
    expect(await stored('late')).toBe(0);
  });
});

import type { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { recordLease } from '../../../test/support/lease-record.js';
import { startTcpProxy, targetOf, throughProxy } from '../../../test/support/tcp-proxy.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { StaleEpochError } from '../../cluster/cluster-driver.js';
import { connect } from '../database/connection.js';
import { monotonicMillis } from '../monotonic.js';
import { Wake } from '../wake/wake.js';
import type { LeaderDuty } from './leadership.js';
import { LeaseThread } from './lease-thread.js';
import { PgLeadership } from './pg-leadership.js';

let url: string;
let remove: () => Promise<void>;
const running: PgLeadership[] = [];
beforeEach(async () => {
  ({ url, remove } = await createDatabase());
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((leadership) => leadership.stop()));
  await remove();
});

interface Options {
  holder?: string;
  url?: string;
  wake?: Wake;
  monotonic?: () => number;
  readAddress?: () => Promise<string | undefined>;
  competes?: boolean;
  standstillMillis?: number;
}

function contender({ holder = 'one', wake = new Wake(), ...rest }: Options = {}): PgLeadership {
  const leadership = new PgLeadership({ url, holder, readAddress: () => Promise.resolve(undefined), ...rest }, wake);
  running.push(leadership);
  return leadership;
}

const ready = (leadership: PgLeadership) => waitFor('the leadership', () => leadership.ready());
const over = (leadership: PgLeadership) => waitFor('its end', () => leadership.current() === undefined);

test('an instance that does not compete never leads, whatever it is told, and another one does', async () => {
  const idle = contender({ holder: 'idle', competes: false });
  idle.start('http://idle');
  await expect(idle.takeOver()).rejects.toThrow('it never leads (leadership.competes)');
  idle.resume();
  const other = contender({ holder: 'other' });
  other.start('http://other');
  await ready(other);
  expect(idle.current()).toBeUndefined();
  await other.stop();
  const third = contender({ holder: 'third' });
  third.start('http://third');
  await ready(third);
  expect(idle.current()).toBeUndefined();
});

describe('duties', () => {
  const events: string[] = [];
  beforeEach(() => void (events.length = 0));
  const duty = (name: string, changes: Partial<LeaderDuty> = {}): LeaderDuty => ({
    name,
    gained: (epoch) => Promise.resolve(void events.push(`${name} gained ${epoch}`)),
    lost: () => Promise.resolve(void events.push(`${name} lost`)),
    ...changes,
  });

  test('begin in the order of registration and end in reverse, and only then the pollers may run', async () => {
    const leadership = contender();
    const slow = async (epoch: number) => {
      expect(leadership.current()).toBe(epoch);
      expect(leadership.ready()).toBe(false);
      events.push('slow gained');
    };
    leadership.register(duty('first'));
    leadership.register(duty('slow', { gained: slow }));
    leadership.start('http://here');
    await ready(leadership);
    await leadership.stop();
    expect(events).toEqual(['first gained 1', 'slow gained', 'slow lost', 'first lost']);
    expect(leadership.current()).toBeUndefined();
  });

  test('that cannot begin give the leadership up; it is tried again in a later epoch', async () => {
    const leadership = contender();
    let attempts = 0;
    const gained = async (epoch: number) => {
      if (++attempts === 1) throw new Error('the cluster is away');
      events.push(`gained ${epoch}`);
    };
    leadership.register(duty('first'));
    leadership.register(duty('fragile', { gained }));
    leadership.start('http://here');
    await ready(leadership);
    expect(events).toEqual(['first gained 1', 'fragile lost', 'first lost', 'first gained 2', 'gained 2']);
  });

  test('that fail to end do not keep the others from ending, nor this instance from leading again', async () => {
    const leadership = contender();
    leadership.register(duty('first'));
    leadership.register(duty('broken', { lost: () => Promise.reject(new Error('no')) }));
    leadership.start('http://here');
    await ready(leadership);
    leadership.stepDown('a test wants it');
    expect(leadership.current()).toBeUndefined();
    await ready(leadership);
    expect(events.filter((event) => event.startsWith('first'))).toEqual([
      'first gained 1',
      'first lost',
      'first gained 2',
    ]);
    expect(leadership.current()).toBe(2);
  });
});

describe('a machine that has seen a higher epoch', () => {
  test('ends the term at once, and the next one is in an epoch above it', async () => {
    const leadership = contender();
    leadership.start('http://here');
    await ready(leadership);
    leadership.outranked(new StaleEpochError(1, 41));
    expect(leadership.current()).toBeUndefined();
    await ready(leadership);
    expect(leadership.current()).toBe(42);
  });

  test('is obeyed when it says so while the term begins', async () => {
    const leadership = contender();
    const gained = async (epoch: number) => {
      if (epoch <= 1_000) throw new StaleEpochError(epoch, 1_000);
    };
    leadership.register({ name: 'cluster', gained, lost: () => Promise.resolve() });
    leadership.start('http://here');
    await ready(leadership);
    expect(leadership.current()).toBe(1_001);
  });

  test('changes nothing when the database has gone further since', async () => {
    const leadership = contender();
    leadership.start('http://here');
    await ready(leadership);
    const client = await connect(url, 'test', 5_000);
    await client.query('UPDATE leader_epoch SET epoch = 60');
    await client.end();
    leadership.outranked(new StaleEpochError(1, 41));
    await ready(leadership);
    expect(leadership.current()).toBe(61);
  });
});

test('a stop in the middle of the takeover ends the leadership too, and gives the lease back', async () => {
  for (const waitMillis of [0, 5, 10, 20, 40]) {
    const leadership = new PgLeadership(
      { url, holder: 'hasty', readAddress: () => Promise.resolve(undefined) },
      new Wake(),
    );
    leadership.start('http://here');
    await new Promise((resolve) => setTimeout(resolve, waitMillis));
    await leadership.stop();
    expect(leadership.current()).toBeUndefined();
  }
  const next = contender();
  next.start('http://next');
  await waitFor('the leadership', () => next.ready(), { timeoutMillis: 1_500 });
});

test('a leader wakes every poller when it is ready', async () => {
  const wake = new Wake();
  let woken = 0;
  wake.on('deploys', () => woken++);
  const leadership = contender({ wake });
  leadership.start('http://here');
  await ready(leadership);
  expect(woken).toBeGreaterThan(0);
});

test('of two, one leads; when it steps down in favour of none, one leads in a later epoch', async () => {
  const [one, two] = [contender(), contender({ holder: 'two' })];
  one.start('http://one');
  await ready(one);
  two.start('http://two');
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(two.current()).toBeUndefined();
  one.stepDown('a test wants it');
  const leader = await waitFor('a leader', () => [one, two].find((each) => each.ready()));
  expect(leader.current()).toBe(2);
});

describe('a clock of the database that is set', () => {
  const set = (client: Client, hours: number) =>
    client.query(
      `UPDATE leader_lease SET expires_at = expires_at + make_interval(hours => $1) WHERE expires_at <> '-infinity'`,
      [hours],
    );

  test.each([-1, 1])('by %i h again and again ends no term, and gives no other the lease', async (hours) => {
    const [leader, other] = [contender(), contender({ holder: 'two' })];
    leader.start('http://one');
    await ready(leader);
    other.start('http://two');
    const client = await connect(url, 'test', 5_000);
    onTestFinished(() => client.end());
    for (let left = 20; left > 0; left--) {
      await set(client, hours);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect([leader.current(), other.current()]).toEqual([1, undefined]);
  });

  test.each([-1, 1])('by %i h keeps no lease for a holder that is gone', async (hours) => {
    const client = await connect(url, 'test', 5_000);
    await client.query(
      `UPDATE leader_lease SET holder = 'gone', epoch = 1, expires_at = clock_timestamp() + make_interval(hours => $1)`,
      [hours],
    );
    await client.end();
    const next = contender();
    next.start('http://next');
    await ready(next);
  });
});

describe('a leader that is told to fail over', () => {
  const addressIn = (databaseUrl: string) => async () => {
    const client = await connect(databaseUrl, 'test', 5_000);
    try {
      const { rows } = await client.query<{ address: string }>(
        'SELECT address FROM leader_lease WHERE expires_at >= clock_timestamp()',
      );
      return rows[0]?.address;
    } finally {
      await client.end();
    }
  };

  test('ends its duties, gives the lease to another instance, and competes again in the same process', async () => {
    const readAddress = addressIn(url);
    const [one, two] = [contender({ readAddress }), contender({ holder: 'two', readAddress })];
    const events: string[] = [];
    one.register({
      name: 'duty',
      gained: async (epoch) => void events.push(`gained ${epoch}`),
      lost: async () => void events.push('lost'),
    });
    one.start('http://one');
    await ready(one);
    two.start('http://two');
    const epoch = one.current();
    const client = await connect(url, 'test', 5_000);
    onTestFinished(() => client.end());
    const changes = await recordLease(async (sql) => (await client.query(sql)).rows);
    one.failOver('a test wants it');
    expect(one.current()).toBeUndefined();
    await ready(two);
    // Its timer and not a notification brought it here, but not the end of the lease either.
    expect(await changes()).toEqual([
      { holder: 'one', isGivenBack: true },
      { holder: 'two', isGivenBack: false },
    ]);
    two.failOver('a test wants it back');
    await ready(one);
    expect(one.current()).toBeGreaterThan(epoch!);
    expect(events).toEqual(['gained 1', 'lost', `gained ${one.current()}`]);
  }, 60_000);

  test('a hand-over right after another one does not leave two that wait for each other', async () => {
    const [one, two] = [contender(), contender({ holder: 'two' })];
    one.start('http://one');
    await ready(one);
    two.start('http://two');
    one.failOver('a test wants it');
    await ready(two);
    two.failOver('before the first one has looked');
    await waitFor('the first one to lead again', () => one.ready(), { timeoutMillis: 5_000 });
  });

  test('leads again by itself when no other wants to, within 15 s and not at once', async () => {
    let ahead = 0;
    const only = contender({ monotonic: () => monotonicMillis() + ahead });
    only.start('http://only');
    await ready(only);
    only.failOver('a test wants it');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(only.ready()).toBe(false);
    ahead = 15_000;
    await ready(only);
    expect(only.current()).toBe(2);
  });

  test('that does not lead does nothing', async () => {
    const leader = contender();
    leader.start('http://one');
    await ready(leader);
    const other = contender({ holder: 'two' });
    other.start('http://two');
    other.failOver('a test wants it');
    expect(leader.current()).toBe(1);
    leader.stepDown('now the other may');
    expect((await waitFor('a leader', () => [leader, other].find((each) => each.ready()))).current()).toBe(2);
  });
});

describe('an instance that', () => {
  test('is told to lead does, in a new epoch, and the former leader finds out', async () => {
    const [former, chosen] = [contender(), contender({ holder: 'two' })];
    former.start('http://one');
    await ready(former);
    chosen.start('http://two');
    await chosen.takeOver();
    expect(chosen.current()).toBe(2);
    await over(former);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect([former.current(), chosen.current()]).toEqual([undefined, 2]);
  });

  test('leads already stays in its epoch when told to lead', async () => {
    const leader = contender();
    leader.start('http://one');
    await ready(leader);
    await leader.takeOver();
    expect(leader.current()).toBe(1);
  });

  test('is told to stop leads no more and does not compete, until it is told to start', async () => {
    const leadership = contender();
    leadership.start('http://one');
    await ready(leadership);
    leadership.suspend('a test wants it');
    expect(leadership.current()).toBeUndefined();
    expect(leadership.standing()).toMatchObject({ suspended: true, millisSinceLed: expect.any(Number) });
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(leadership.current()).toBeUndefined();
    leadership.resume();
    await ready(leadership);
    expect(leadership.standing()).toEqual({ suspended: false, millisSinceLed: undefined });
  });

  test('begins to compete or to lead, or leads no more, says so at once', async () => {
    const leadership = contender();
    const seen: boolean[] = [];
    leadership.onChange(() => seen.push(leadership.ready()));
    leadership.start('http://one');
    await ready(leadership);
    expect(seen).toEqual([false, true]);
    leadership.stepDown('a test wants it');
    await waitFor('the change', () => seen.length >= 3);
    expect(seen[2]).toBe(false);
  });
});

describe('a main thread that stands still', () => {
  const standStill = (millis: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);

  test('for longer than a lease lasts goes on in the same term', async () => {
    const leadership = contender();
    leadership.start('http://here');
    await ready(leadership);
    standStill(3_500);
    expect([leadership.current(), leadership.ready()]).toEqual([1, true]);
    // Its timers and messages have run by the second look at the time of the database.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(leadership.current()).toBe(1);
  });

  test('for longer than it may lets the lease go meanwhile, and leads no more from that very moment', async () => {
    const leadership = contender({ standstillMillis: 300 });
    leadership.start('http://here');
    await ready(leadership);
    standStill(1_200);
    expect(leadership.current()).toBeUndefined();
    await ready(leadership);
    expect(leadership.current()).toBe(2);
  });

  test('while the lease cannot be renewed leads no more after 2 s, before any timer has run', async () => {
    const proxy = await startTcpProxy(targetOf(url));
    onTestFinished(() => proxy.close());
    const leadership = contender({ url: throughProxy(url, proxy) });
    leadership.start('http://here');
    await ready(leadership);
    // The line is of this thread, and stands still with it.
    standStill(2_100);
    expect(leadership.current()).toBeUndefined();
    expect(leadership.ready()).toBe(false);
  });
});

test('a thread that takes too long to start is given up, and another one started', async () => {
  const proxy = await startTcpProxy(targetOf(url));
  const thread = new LeaseThread(throughProxy(url, proxy), 'one', undefined, 1_000);
  onTestFinished(async () => {
    await thread.stop();
    await proxy.close();
  });
  proxy.freeze();
  await expect(thread.started()).rejects.toThrow('aborted');
  proxy.restore();
  const starts = () =>
    thread.started().then(
      () => true,
      () => false,
    );
  await waitFor('another one to start', starts);
});

test('connections of the lease that break one after the other do not end the term', async () => {
  const leadership = contender();
  leadership.start('http://here');
  await ready(leadership);
  const client = await connect(url, 'test', 5_000);
  onTestFinished(() => client.end());
  const broken = new Set<number>();
  await waitFor('four of them to have been broken', async () => {
    const { rows } = await client.query<{ pid: number }>(
      `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'muster lease%'`,
    );
    for (const { pid } of rows) broken.add(pid);
    await new Promise((resolve) => setTimeout(resolve, 300));
    return broken.size >= 4;
  });
  expect(leadership.current()).toBe(1);
});

describe('while the database', () => {
  test('is cut off, none leads; when it is back, the same instance competes and leads again', async () => {
    const proxy = await startTcpProxy(targetOf(url));
    onTestFinished(() => proxy.close());
    const leadership = contender({ url: throughProxy(url, proxy) });
    leadership.start('http://here');
    await ready(leadership);
    proxy.cut();
    await over(leadership);
    proxy.restore();
    await ready(leadership);
    expect(leadership.current()).toBeGreaterThan(1);
  });

  test('does not answer, the leader stops in time for another one, which holds the lease from then on', async () => {
    const proxy = await startTcpProxy(targetOf(url));
    onTestFinished(() => proxy.close());
    const frozen = contender({ url: throughProxy(url, proxy) });
    frozen.start('http://frozen');
    await ready(frozen);
    const other = contender({ holder: 'other' });
    other.start('http://other');
    proxy.freeze();
    await over(frozen);
    expect(other.current()).toBeUndefined();
    await ready(other);
    proxy.restore();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect([frozen.current(), other.current()]).toEqual([undefined, 2]);
  });
});

describe('a schema that a newer program made', () => {
  const newer = (sql: string) => async () => {
    const client = await connect(url, 'test', 5_000);
    await client.query(sql);
    await client.end();
  };
  const upgrade = newer(`INSERT INTO muster_migration (timestamp, name) VALUES (9000000000000, 'Wings9000000000000')`);
  const goBack = newer(`DELETE FROM muster_migration WHERE name = 'Wings9000000000000'`);

  test('ends the term, and this instance leads no more, until the schema is one that it knows', async () => {
    const leadership = contender();
    leadership.start('http://here');
    await ready(leadership);
    await upgrade();
    await over(leadership);
    expect(leadership.standing().newerSchema).toBe('Wings9000000000000');
    await expect(leadership.takeOver()).rejects.toThrow('could not take over');
    expect(leadership.ready()).toBe(false);
    await goBack();
    await ready(leadership);
    expect(leadership.standing().newerSchema).toBeUndefined();
  });

  test('is noticed by one that does not lead, or was told not to', async () => {
    const [leader, follower, suspended] = ['one', 'two', 'three'].map((holder) => contender({ holder }));
    suspended!.suspend('a test wants it');
    for (const each of [leader!, follower!, suspended!]) each.start('http://here');
    await waitFor('a leader', () => leader!.ready() || follower!.ready());
    await upgrade();
    for (const each of [leader!, follower!, suspended!]) {
      await waitFor('it to notice', () => each.standing().newerSchema === 'Wings9000000000000');
    }
    expect([leader, follower, suspended].map((each) => each!.current())).toEqual([undefined, undefined, undefined]);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { hostname } from 'node:os';
import { insertRequest, insertTask, start } from '../../../test/support/builders.js';
import { startRooms, type RoomApp } from '../../../test/support/room-app.js';
import { startTestApp, type TestApp, type TestAppOptions } from '../../../test/support/test-app.js';
import { createDatabase } from '../../../test/support/test-database.js';
import { waitFor } from '../../../test/support/wait-for.js';
import type { ClusterDriver } from '../../cluster/cluster-driver.js';
import { SimulatedCluster } from '../../../test/support/simulated-cluster/simulated-cluster.js';
import type { HostState, State } from '../../core/model/state.js';
import { Clock } from '../../platform/clock.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import { AgentReach } from './agent-reach.service.js';
import { Instances } from './instances.service.js';
import { LeadershipModule } from './leadership.module.js';
import { StatusDelays } from '../../platform/metrics/status-delays.js';

type App = TestApp<ClusterDriver>;
const apps: App[] = [];
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});
async function startApp(options: TestAppOptions<ClusterDriver> = {}): Promise<App> {
  const app = await startTestApp(options);
  apps.unshift(app);
  return app;
}
const addressOf = ({ url }: App): string => new URL(url).host;
const hostStates = async ({ url }: App): Promise<HostState[]> =>
  ((await (await fetch(`${url}/api/state?skipCache=true`)).json()) as State).hostStates;
const post = async ({ url }: App, path: string) => {
  const response = await fetch(`${url}${path}`, { method: 'POST' });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>) };
};
const leads = (app: App): boolean => app.app.get(Leadership).ready();
async function two(): Promise<[App, App]> {
  const { url: databaseUrl, remove } = await createDatabase();
  const first = await startApp({ databaseUrl });
  const second = await startApp({ databaseUrl, follows: true });
  const close = first.close.bind(first);
  first.close = () => close().then(remove);
  return [first, second];
}

describe('the list of instances', () => {
  test('is the same wherever it is asked for, and names one leader, which is the master of the cluster', async () => {
    const [first, second] = await two();
    const listed = async (app: App) => {
      const hosts = await hostStates(app);
      return hosts.length === 2 && hosts;
    };
    for (const asked of [first, second]) {
      const hosts = await waitFor('both', () => listed(asked));
      expect(Object.fromEntries(hosts.map(({ hostAddress, master }) => [hostAddress, master]))).toEqual({
        [addressOf(first)]: true,
        [addressOf(second)]: false,
      });
      expect(hosts.map(({ hostname: name }) => name)).toEqual([hostname(), hostname()]);
      expect(hosts.map(({ clusterMaster }) => clusterMaster)).toEqual([addressOf(first), addressOf(first)]);
    }
  });

  test('says at once who leads when that changes', async () => {
    const [first, second] = await two();
    await waitFor('both', async () => (await hostStates(second)).length === 2);
    first.app.get(Leadership).failOver('a test wants it');
    await waitFor('the other to lead', () => leads(second));
    const seen = await waitFor('the news', async () => {
      const hosts = await hostStates(first);
      return hosts.find(({ master }) => master) && hosts;
    });
    expect(seen.filter(({ master }) => master).map(({ hostAddress }) => hostAddress)).toEqual([addressOf(second)]);
  });

  test('loses an instance that stops in order at once', async () => {
    const [first, second] = await two();
    await waitFor('both', async () => (await hostStates(first)).length === 2);
    await apps.shift()!.close();
    expect((await hostStates(first)).map(({ hostAddress }) => hostAddress)).toEqual([addressOf(first)]);
    expect(second.url).not.toBe(first.url);
  });
});

describe('POST /api/disasters/failover', () => {
  test('answers, ends the leadership of the instance asked, lets another lead, and this one competes again', async () => {
    const [first, second] = await two();
    expect(await post(first, '/api/disasters/failover')).toEqual({ status: 200, body: undefined });
    expect(first.app.get(Leadership).current()).toBeUndefined();
    await waitFor('the other to lead', () => leads(second));
    expect(await post(second, '/api/disasters/failover')).toMatchObject({ status: 200 });
    await waitFor('the first to lead again', () => leads(first));
  });

  test('is 409 NOT_LEADER on an instance that does not lead, and names the leader', async () => {
    const [first, second] = await two();
    expect(await post(second, '/api/disasters/failover')).toMatchObject({
      status: 409,
      body: { code: 'NOT_LEADER', leader: first.url, message: `This instance does not lead; ${first.url} does` },
    });
    expect(leads(first)).toBe(true);
  });

  test('names no leader, least of all the instance asked, while that gives its leadership up', async () => {
    const app = await startApp();
    expect(await post(app, '/api/disasters/failover')).toMatchObject({ status: 200 });
    const { status, body } = await post(app, '/api/disasters/failover');
    expect(status).toBe(409);
    expect(body).toMatchObject({ code: 'NOT_LEADER', message: 'No instance leads at present' });
    expect(body).not.toHaveProperty('leader');
  });
});

test('the address that others are told is the one that was set', async () => {
  const app = await startApp({ settings: { advertisedUrl: 'http://scheduler-1.example:80' } });
  expect((await hostStates(app))[0]!.hostAddress).toBe('scheduler-1.example');
  expect(await app.app.get(Leadership).leaderAddress()).toBe('http://scheduler-1.example:80');
});

describe('an instance tells', () => {
  let rooms: RoomApp;
  const tx = () => rooms.database.pool;
  const cluster = new SimulatedCluster({ machines: 2 });
  beforeAll(async () => {
    rooms = await startRooms({
      modules: [LeadershipModule],
      driver: cluster.driver(),
      settings: { saveStateEverySeconds: 5 },
    });
  });
  afterAll(() => rooms.close());
  const instances = () => rooms.app.get(Instances, { strict: false });
  const list = () => instances().list(tx());

  test('how many machines it knows, and what its tasks leave of them', async () => {
    await insertRequest(tx());
    const machines = cluster.driver().machines();
    await insertTask(tx(), { startedAt: start });
    await tx().query(`UPDATE task SET slave_id = $1, cpus = 1.5, memory_mb = 100`, [machines[0]!.slaveId]);
    await insertTask(tx(), { instanceNo: 2, startedAt: start, updates: [['TASK_LOST', start]] });
    const { hostStates: hosts } = await list();
    expect(hosts).toMatchObject([
      {
        offerCacheSize: 2,
        availableCachedCpus: machines.reduce((sum, { cpus }) => sum + cpus, 0) - 1.5,
        availableCachedMemory: machines.reduce((sum, { memoryMb }) => sum + memoryMb, 0) - 100,
      },
    ]);
  });

  test('for how long others have been silent: uptime goes on, the newest word of a machine ages', async () => {
    await instances().write(tx());
    await tx().query(
      `INSERT INTO instance SELECT 'other', NULL, 77, document || '{"hostAddress": "zz", "uptime": 1000, "millisSinceLastOffer": 5}',
         written_at - interval '3 s' FROM instance`,
    );
    const other = (await list()).hostStates.find(({ hostAddress }) => hostAddress === 'zz')!;
    expect(other.uptime).toBeGreaterThanOrEqual(4_000);
    expect(other.millisSinceLastOffer).toBeGreaterThanOrEqual(3_005);
    expect(other).toMatchObject({ master: false, clusterConnected: false });
  });

  test('nothing of one that was silent for three periods, whose row the next writer removes', async () => {
    await tx().query(`UPDATE instance SET written_at = written_at - interval '15 s' WHERE id = 'other'`);
    expect((await list()).hostStates).toHaveLength(1);
    await instances().write(tx());
    expect(await tx().query(`SELECT id FROM instance WHERE id = 'other'`)).toEqual([]);
  });

  test('that a leader which died leads no more once another epoch has begun', async () => {
    await tx().query(
      `INSERT INTO instance SELECT 'dead', 0, 77, document || '{"hostAddress": "dead", "master": true}', clock_timestamp()
       FROM instance`,
    );
    const { hostStates: hosts } = await list();
    expect(hosts.map(({ hostAddress, master }) => [hostAddress, master])).toEqual([
      [new URL(rooms.url).host, true],
      ['dead', false],
    ]);
    expect(hosts.map(({ clusterMaster }) => clusterMaster)).toEqual(Array(2).fill(new URL(rooms.url).host));
    await tx().query(`DELETE FROM instance WHERE id = 'dead'`);
  });

  test('how long status updates take, as the leader measured it', async () => {
    const delays = rooms.app.get(StatusDelays, { strict: false });
    expect(delays.average()).toBe(0);
    for (const millis of [100, 201, -50]) delays.record(millis);
    expect((await list()).statusDelayMillis).toBe(100);
  });
});

describe('an instance that reaches no agent', () => {
  /** Both look when the test says so, and what is waited for is long over. */
  async function twoOfWhich() {
    const clocks = [new Clock(), new Clock()];
    const { url: databaseUrl, remove } = await createDatabase();
    const first = await startApp({ databaseUrl, clock: clocks[0] });
    const second = await startApp({ databaseUrl, clock: clocks[1], follows: true });
    const close = first.close.bind(first);
    first.close = () => close().then(remove);
    await waitFor('both', async () => (await hostStates(second)).length === 2);
    const look = async ({ app }: App) => app.get(AgentReach, { strict: false }).runOnce();
    const lose = async (app: App, clock: Clock) => {
      app.driver.whyUnreachable = async () => 'the line is cut';
      await look(app);
      clock.monotonic = () => performance.now() + 60_000;
    };
    const find = (app: App) => void (app.driver.whyUnreachable = async () => undefined);
    return { first, second, clocks, look, lose, find };
  }
  const degraded = async ({ url }: App) =>
    ((await (await fetch(`${url}/readyz`)).json()) as { degraded: string[] }).degraded.join();

  test('gives the leadership to one that does, and competes again when it does itself', async () => {
    const { first, second, clocks, look, lose, find } = await twoOfWhich();
    await lose(first, clocks[0]!);
    await look(second);
    await look(first);
    expect(await degraded(first)).toContain(`the line is cut; it leaves leading to ${addressOf(second)}`);
    await waitFor('the other to lead', () => leads(second));
    find(first);
    await look(first);
    expect(await degraded(first)).toBe('');
    second.app.get(Leadership).failOver('a test wants it');
    await waitFor('the first to lead again', () => leads(first));
  });

  test('leads as long as no other does, too', async () => {
    const { first, second, clocks, look, lose } = await twoOfWhich();
    await lose(second, clocks[1]!);
    await lose(first, clocks[0]!);
    await look(second);
    await look(first);
    expect(leads(first)).toBe(true);
    expect(await degraded(first)).toContain('the line is cut; nor does another one');
  });

  test('does not compete while another does, and does when none is left', async () => {
    const { first, second, clocks, look, lose } = await twoOfWhich();
    await look(first);
    await lose(second, clocks[1]!);
    await look(second);
    first.app.get(Leadership).failOver('a test wants it');
    await waitFor('the first to lead again, when it has stood aside in vain', () => leads(first), {
      timeoutMillis: 25_000,
    });
    expect(leads(second)).toBe(false);
    await apps.splice(apps.indexOf(first), 1)[0]!.app.close();
    await waitFor('the second to lead', async () => {
      await look(second);
      return leads(second);
    });
  }, 40_000);
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/platform/database/connection.js';
import { openEventStream, type HeardEvent } from '../support/event-client.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { Installation } from './support/product.js';

const slowMachine = { timeoutMillis: 60_000 };

/** Hears what happens from one instance after the other, as a browser does that reconnects: with the last id it has. */
class Follower {
  readonly heard: HeardEvent[] = [];
  begun: number | undefined;
  private lastId: string | undefined;
  private isOver = false;
  private readonly end: Promise<void>;

  /** `stayMillis`: how long it stays where it is not cut off. */
  constructor(
    private readonly urls: () => string[],
    private readonly stayMillis: number,
  ) {
    this.end = this.follow();
  }

  private async follow(): Promise<void> {
    for (let turn = 0; !this.isOver; turn++) {
      const urls = this.urls();
      const headers: Record<string, string> = this.lastId === undefined ? {} : { 'Last-Event-ID': this.lastId };
      const url = `${urls[turn % urls.length]}/api/events`;
      const client = await openEventStream(url, headers, (event) => this.heard.push(event)).catch(() => undefined);
      const since = performance.now();
      while (client && !client.isClosed && !this.isOver && performance.now() - since < this.stayMillis) {
        await delay(5);
        this.begun ??= client.lastId === undefined ? undefined : Number(client.lastId);
      }
      client?.close();
      this.lastId = client?.lastId ?? this.lastId;
      if (!client) await delay(50);
    }
  }

  /** Without what is said when a stream ends. */
  get events(): HeardEvent[] {
    return this.heard.filter(({ type }) => type !== 'end');
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.end;
  }
}

test('over changes of the leader, kill -9 and a restart of everything no event is lost and none comes twice', async () => {
  const { url: databaseUrl, remove } = await createDatabase();
  const installation = new Installation({ databaseUrl });
  const sql = await connect(databaseUrl, 'test', 10_000);
  const first = await installation.start();
  let instances = [first, await installation.start(['scheduler'])];
  const urls = () => instances.map(({ api }) => api.url);
  const followers = [new Follower(urls, 150), new Follower(() => urls().toReversed(), 1_500), new Follower(urls, 1e9)];
  onTestFinished(async () => {
    for (const follower of followers) await follower.stop();
    await installation.dispose();
    await sql.end();
    await remove();
  });
  await waitFor('all of them to have begun', () => followers.every(({ begun }) => begun !== undefined));

  const { api } = first;
  await api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await api.deploy({ requestId: 'job', id: 'd1', command: 'true', resources: { cpus: 0.1, memoryMb: 32 } });
  let runs = 0;
  const ended = async () =>
    Number((await sql.query<{ n: string }>('SELECT count(*) AS n FROM task_history')).rows[0]!.n);
  const run = async (caller = api) => {
    for (let n = 0; n < 5; n++) await caller.post('requests/request/job/run', { runId: `run-${runs++}` });
    await waitFor('the ends of the runs', async () => (await ended()) === runs, slowMachine);
  };
  await run();
  await api.post('disasters/failover');
  await instances[1]!.leads(60_000);
  await run();
  await instances[1]!.kill9();
  instances = [first];
  await first.leads(60_000);
  await run();
  await first.stop();
  const last = await installation.start();
  instances = [last];
  await last.leads(60_000);
  await run(last.api);

  const newest = async () => {
    const { rows } = await sql.query<{ n: unknown; open: unknown }>(
      `SELECT last_number AS n, (SELECT count(*) FROM live_event WHERE number IS NULL) AS open FROM live_event_count`,
    );
    return Number(rows[0]!.open) === 0 && Number(rows[0]!.n);
  };
  const upTo = await waitFor('numbers for all events', newest);
  for (const { begun, events } of followers) {
    await waitFor('the last event', () => Number(events.at(-1)?.id) >= upTo).catch(() => undefined);
    expect(events.filter(({ type }) => type === 'reset')).toEqual([]);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => begun! + 1 + index));
    expect(ids.at(-1)).toBeGreaterThanOrEqual(upTo);
  }
  // What is told is what happened: every state of every run, in its order.
  const { rows } = await sql.query<{ id: string; states: string[] }>(
    `SELECT task_id AS id, ARRAY(SELECT u->>'taskState' FROM jsonb_array_elements(data->'taskUpdates') AS u) AS states FROM task_history`,
  );
  expect(rows.length).toBe(runs);
  for (const { events } of followers) {
    for (const { id, states } of rows) {
      const told = events.filter(({ data }) => data['taskId'] === id).map(({ data }) => data['taskState']);
      expect(told).toEqual(states);
    }
  }
}, 300_000);

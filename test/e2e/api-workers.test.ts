import { Agent, request as call } from 'node:http';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { isAlive, killNow, workersOf } from './support/processes.js';
import { Installation, type Instance } from './support/product.js';
import { type HeardEvent, openEventStream } from '../support/event-client.js';
import { waitFor } from '../support/wait-for.js';

const env = { MUSTER_HTTP_WORKERS: '2', MUSTER_ALLOW_TEST_RESOURCE_CALLS: 'true' };
const installations: Installation[] = [];
function install(settings: Record<string, unknown> = {}, databaseUrl?: string): Installation {
  const installation = new Installation({ env, settings, databaseUrl });
  installations.push(installation);
  return installation;
}
/** One product that the tests share: each of them leaves two workers that serve. */
let shared: Installation;
let muster: Instance;
beforeAll(async () => {
  shared = install();
  muster = await shared.start();
}, 120_000);
afterAll(async () => {
  // The database of the first is that of the others.
  for (const installation of installations.splice(0).toReversed()) await installation.dispose();
}, 120_000);

interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  agent?: Agent;
  timeoutMillis?: number;
}
/** On a connection of its own, unless one is given: so calls come to the workers in turn. 0: the connection broke, or none came about. */
const callAlone = (
  { port }: Instance,
  method: string,
  path: string,
  { body, headers: given = {}, agent, timeoutMillis: timeout = 20_000 }: Asked = {},
) =>
  new Promise<{ status: number; body: string }>((resolve) => {
    const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...given };
    const options = { host: '127.0.0.1', port, method, path, headers, agent: agent ?? false, timeout };
    const sent = call(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.once('close', () => resolve({ status: answer.complete ? answer.statusCode! : 0, body: text }));
    });
    sent.once('timeout', () => sent.destroy(new Error('No answer')));
    sent.once('error', () => resolve({ status: 0, body: '' }));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
/** One connection, and so one worker. */
class Line {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  constructor(private readonly muster: Instance) {}
  call = (method: string, path: string, asked: Asked = {}) =>
    callAlone(this.muster, method, path, { ...asked, agent: this.agent });
  close = (): void => this.agent.destroy();
}
const figure = async (muster: Instance, name: string): Promise<number> => {
  const { body } = await callAlone(muster, 'GET', '/metrics');
  const line = body.split('\n').find((text) => text.startsWith(`${name} `));
  return line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
};
const bothServe = () =>
  waitFor('both', async () => (await figure(muster, 'muster_api_workers{state="serving"}')) === 2);
/** Pids of the workers that serve, which is when the lines at the start name them. */
const running = (muster: Instance, count: number): Promise<number[]> =>
  waitFor(`${count} workers`, () => {
    const pids = workersOf(muster.pid);
    return pids.length === count && muster.output.includes(', API workers: ') && pids;
  });
/** Named at the start, or when it took the place of another one. */
const serves = ({ output }: Instance, pid: number): boolean =>
  new RegExp(`API workers: .*\\b${pid}\\b|serves.* \\(process ${pid}\\)`).test(output);
const count = (text: string, part: string): number => text.split(part).length - 1;

test('workers answer as one instance: what was written is read by the next call, and what concerns the leader reaches it', async () => {
  await muster.leads();
  expect(await running(muster, 2)).toHaveLength(2);
  const answered = { method: 'GET', route: '/api/requests/request/:requestId', status: '200' };
  const name = `muster_http_requests_total{${Object.entries(answered)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',')}}`;
  for (let no = 0; no < 20; no++) {
    const written = await callAlone(muster, 'POST', '/api/requests', { body: { id: `r${no}`, requestType: 'WORKER' } });
    expect(written.status).toBe(200);
    // On another connection, which the other worker has.
    expect((await callAlone(muster, 'GET', `/api/requests/request/r${no}`)).status).toBe(200);
  }
  expect(await figure(muster, name)).toBe(20);
  expect(muster.output).toMatch(new RegExp(`^  Process id  ${muster.pid}, API workers: \\d+, \\d+$`, 'm'));
  expect(await figure(muster, 'muster_leader')).toBe(1);
  expect(await figure(muster, 'muster_event_loop_delay_seconds{quantile="0.99",process="api"}')).toBeGreaterThan(0);
  const many = Array.from({ length: 100 }, () => callAlone(muster, 'GET', '/api/requests?property=request.id'));
  expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
  const db = new Client({ connectionString: shared.databaseUrl() });
  await db.connect();
  const { rows } = await db.query(`SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'muster %'`);
  await db.end();
  expect(rows.length).toBeLessThanOrEqual(47);
  expect(await figure(muster, 'muster_api_workers{state="serving"}')).toBe(2);
  expect(await figure(muster, 'muster_api_workers_ended_total')).toBe(0);
  const [first] = await running(muster, 2);
  killNow([first!]);
  await waitFor('another one', () => workersOf(muster.pid).length === 2 && !workersOf(muster.pid).includes(first!));
  expect(await figure(muster, name), 'a counter does not go back').toBe(20);
  expect(await figure(muster, 'muster_api_workers_ended_total')).toBe(1);
  await bothServe();
  expect(await figure(muster, 'muster_api_workers{state="missing"}')).toBe(0);

  for (let asked = 0; asked < 3; asked++) {
    const { hostStates } = JSON.parse((await callAlone(muster, 'GET', '/api/state?skipCache=true')).body) as {
      hostStates: { hostAddress: string; master: boolean }[];
    };
    expect(hostStates.map(({ hostAddress, master }) => [hostAddress, master])).toEqual([
      [`127.0.0.1:${muster.port}`, true],
    ]);
  }
  expect((await callAlone(muster, 'POST', '/api/test/stop')).status).toBe(204);
  expect(JSON.parse((await callAlone(muster, 'GET', '/readyz')).body)).toMatchObject({ leads: false });
  expect((await callAlone(muster, 'POST', '/api/disasters/failover')).status).toBe(409);
  expect((await callAlone(muster, 'POST', '/api/test/start')).status).toBe(204);
  await muster.leads();
  expect((await callAlone(muster, 'POST', '/api/disasters/failover')).status).toBe(200);
  expect(muster.output).not.toContain('MaxListenersExceededWarning');
}, 180_000);

test('a worker that is killed among calls breaks those on its connections, loses nothing that was accepted, and is replaced', async () => {
  const accepted: string[] = [];
  const broken: string[] = [];
  let goesOn = true;
  const callers = Array.from({ length: 8 }, async (_none, caller) => {
    for (let no = 0; goesOn; no++) {
      const id = `among-${caller}-${no}`;
      const { status, body } = await callAlone(muster, 'POST', '/api/requests', {
        body: { id, requestType: 'WORKER' },
      });
      if (status === 200) accepted.push(id);
      else if (status === 0) broken.push(id);
      else throw new Error(`${status} ${body}`);
    }
  });
  await waitFor('calls', () => accepted.length > 20);
  const [first] = await running(muster, 2);
  killNow([first!]);
  await waitFor('another one', () => workersOf(muster.pid).length === 2 && !workersOf(muster.pid).includes(first!));
  const soFar = accepted.length;
  await waitFor('further calls', () => accepted.length > soFar + 20);
  goesOn = false;
  await Promise.all(callers);
  // Each caller has one connection, and only what was on those of that worker breaks.
  expect(broken.length).toBeLessThanOrEqual(8);
  const stored = new Set(await muster.api.get<string[]>('requests/ids'));
  expect(accepted.filter((id) => !stored.has(id))).toEqual([]);
  expect(count(muster.output, `(process ${first}) has ended (SIGKILL); restarting it`)).toBe(1);
}, 180_000);

test('calls with a key that are under way when their worker is killed are done once, whoever is asked again', async () => {
  const resources = { cpus: 0.05, memoryMb: 8 };
  await muster.api.saveRequest({ id: 'job', requestType: 'ON_DEMAND' });
  await muster.api.deploy({ requestId: 'job', id: 'v1', command: 'true', resources });
  await muster.api.deployEnded('job', 'v1');
  const keys = Array.from({ length: 20 }, (_, number) => `key-${number}`);
  let broken = 0;
  let last = '';
  /** Until it is known what became of it. */
  const run = (key: string) =>
    waitFor(
      `the answer to ${key}`,
      async () => {
        const { status, body } = await callAlone(muster, 'POST', '/api/requests/request/job/run', {
          body: { runId: key },
          headers: { 'idempotency-key': key },
        });
        if (status === 0) broken++;
        last = `${status} ${body}`;
        return status === 200 || body.includes('IDEMPOTENT_CALL_DONE');
      },
      { timeoutMillis: 60_000, everyMillis: 50 },
    ).catch((cause: Error) => {
      throw new Error(`${cause.message}: ${last}`);
    });
  for (const part of [keys.slice(0, 10), keys.slice(10)]) {
    const runs = Promise.all(part.map(run));
    const brokenBefore = broken;
    await waitFor('broken calls', () => {
      // One that has no calls yet would only be started ever later.
      killNow(workersOf(muster.pid).filter((pid) => serves(muster, pid)));
      return broken > brokenBefore;
    });
    await runs;
  }
  const ended = await waitFor(
    'all runs to end',
    async () => {
      const found = await muster.api.get<{ runId?: string }[]>('history/request/job/tasks?count=1000');
      const active = await muster.api.get<unknown[]>('history/request/job/tasks/active');
      const pending = await muster.api.get<unknown[]>('tasks/scheduled/request/job');
      const queued = await muster.api.get<unknown[]>('requests/queued/pending');
      return active.length + pending.length + queued.length === 0 && found.length >= keys.length && found;
    },
    { timeoutMillis: 90_000, everyMillis: 250 },
  );
  expect(ended.map(({ runId }) => runId).toSorted()).toEqual(keys.toSorted());
  await bothServe();
}, 240_000);

test('what was written by one worker is true for the next call by another, and bounds hold for all together', async () => {
  const auth = {
    enabled: true,
    authenticators: ['TOKEN'],
    bootstrapToken: 'first-of-all-tokens',
    failuresBeforeDelay: 10,
  };
  const installation = install({ auth, disasterDetection: { enabled: false } });
  onTestFinished(() => installation.dispose(), 90_000);
  const muster = await installation.start();
  // Given to the workers in turn, and kept open.
  const lines = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const line = new Line(muster);
      expect((await line.call('GET', '/healthz')).status).toBe(200);
      return line;
    }),
  );
  const admin = { authorization: 'Token first-of-all-tokens' };
  const pairs = lines.flatMap((one) => lines.filter((other) => other !== one).map((other) => [one, other] as const));
  // Reads that are under way when it is written must not be shared by those who ask after that.
  let goesOn = true;
  const readers = ['/api/requests', '/api/requests/ids', '/api/tasks/active'].flatMap((path) =>
    [1, 2].map(async () => {
      const line = new Line(muster);
      while (goesOn) expect((await line.call('GET', path, { headers: admin })).status).toBe(200);
      line.close();
    }),
  );
  let no = 0;
  for (let round = 0; round < 4; round++) {
    for (const [writer, reader] of pairs) {
      const id = `r${no++}`;
      const body = { id, requestType: 'WORKER', instances: 1 };
      expect((await writer.call('POST', '/api/requests', { body, headers: admin })).status).toBe(200);
      const ids = await reader.call('GET', '/api/requests/ids', { headers: admin });
      expect(JSON.parse(ids.body)).toContain(id);
      const scaled = { body: { instances: 3 }, headers: admin };
      expect((await writer.call('PUT', `/api/requests/request/${id}/scale`, scaled)).status).toBe(200);
      for (const path of [`/api/requests/request/${id}`, `/api/requests/request/${id}/simple`]) {
        const { body: text } = await reader.call('GET', path, { headers: admin });
        expect(JSON.parse(text)).toMatchObject({ request: { id, instances: 3 } });
      }
    }
  }
  goesOn = false;
  await Promise.all(readers);

  // What each process keeps: which actions are switched off, and whose tokens are good.
  for (const [one, other] of pairs) {
    const id = `r${no++}`;
    const create = { body: { id, requestType: 'WORKER' }, headers: admin };
    expect((await other.call('POST', '/api/requests', create)).status).toBe(200);
    const path = '/api/disasters/disabled-actions/SCALE_REQUEST';
    expect((await one.call('POST', path, { body: { message: 'not now' }, headers: admin })).status).toBe(204);
    const scale = { body: { instances: 2 }, headers: admin };
    expect((await other.call('PUT', `/api/requests/request/${id}/scale`, scale)).status).toBe(409);
    expect((await one.call('DELETE', path, { headers: admin })).status).toBe(204);
    expect((await other.call('PUT', `/api/requests/request/${id}/scale`, scale)).status).toBe(200);
  }
  for (const [one, other] of pairs.slice(0, 4)) {
    const user = { id: `ann${no++}` };
    const made = await one.call('POST', '/api/auth/token', { body: { user }, headers: admin });
    expect([made.status, made.body]).toEqual([200, made.body]);
    const { token } = JSON.parse(made.body) as { token: string };
    const own = { headers: { authorization: `Token ${token}` } };
    expect((await other.call('GET', '/api/auth/user', own)).status).toBe(200);
    expect((await one.call('DELETE', `/api/auth/token/${user.id}`, { headers: admin })).status).toBe(200);
    expect((await other.call('GET', '/api/auth/user', own)).status).toBe(401);
  }
  const made: number[] = [];
  for (let tried = 0; tried < 12; tried++) {
    const wanted = { body: { user: { id: `bob${tried}` } }, headers: admin };
    made.push((await lines[tried % lines.length]!.call('POST', '/api/auth/token', wanted)).status);
  }
  // Ten in a minute, with the four above.
  expect(made).toEqual([...Array.from({ length: 6 }, () => 200), ...Array.from({ length: 6 }, () => 429)]);
  // Ten wrong proofs in all, with the four above, whichever worker hears them. The words about them are not waited for.
  let wrong = 0;
  for (const line of lines) {
    await waitFor('callers to have to wait', async () => {
      const headers = { authorization: `Token guessed-number-${no++}` };
      const { status } = await line.call('GET', '/api/requests', { headers });
      if (status === 401) wrong++;
      return status === 429;
    });
  }
  expect(wrong).toBeGreaterThanOrEqual(6);
  expect(wrong).toBeLessThanOrEqual(8);
  for (const line of lines) line.close();
}, 180_000);

test('more workers than the database has connections for are refused by name', async () => {
  const many = await install({}, shared.databaseUrl()).spawn(['start'], { MUSTER_HTTP_WORKERS: '64' });
  await many.exited();
  expect(many.exitCode).toBe(1);
  expect(many.output).toContain('http.workers is 64: that takes up to 536 connections, and the database has 197');
}, 60_000);

test('without a port for its workers it does not start, and says so in one line', async () => {
  const second = await install({}, shared.databaseUrl()).spawn(['start'], { MUSTER_PORT: String(muster.port) });
  await second.exited();
  expect(second.exitCode).toBe(1);
  expect(second.output).toContain(`Port ${muster.port} on 127.0.0.1 is taken by another program: set MUSTER_PORT`);
  expect(workersOf(second.pid)).toEqual([]);
}, 120_000);

test('event streams of all workers tell what one writes; an ordered stop, also one that all processes are told of, ends them, and answers what is being answered', async () => {
  await bothServe();
  const workers = workersOf(muster.pid);
  const heard: HeardEvent[][] = [[], [], []];
  const streams = await Promise.all(
    heard.map((events) => openEventStream(`${muster.api.url}/api/events`, {}, (event) => void events.push(event))),
  );
  await callAlone(muster, 'POST', '/api/requests', { body: { id: 'told', requestType: 'WORKER' } });
  await waitFor('the event on all streams', () =>
    heard.every((events) => events.some(({ data }) => JSON.stringify(data).includes('told'))),
  );
  expect(await figure(muster, 'muster_event_streams')).toBe(3);
  let isOver = false;
  const answers: number[] = [];
  const callers = Array.from({ length: 4 }, async () => {
    while (!isOver) answers.push((await callAlone(muster, 'GET', '/api/requests')).status);
  });
  await waitFor('calls', () => answers.length > 20);
  // As a supervisor or a terminal does.
  for (const pid of [...workers, muster.pid]) process.kill(pid, 'SIGTERM');
  await muster.exited();
  isOver = true;
  await Promise.all(callers);
  expect(muster.exitCode).toBe(0);
  expect(workers.filter(isAlive)).toEqual([]);
  expect([...muster.output.matchAll(/^ {2}(\w+): stopped/gm)].map((match) => match[1])).toEqual(
    expect.arrayContaining(['scheduler', 'database']),
  );
  // In words as long as it listens; afterwards no connection comes about.
  expect(new Set([200, 503, 0, ...answers])).toEqual(new Set([200, 503, 0]));
  expect(heard.map((events) => events.at(-1)?.type)).toEqual(['end', 'end', 'end']);
  for (const stream of streams) stream.close();
}, 120_000);

test('a scheduler that is killed leaves no worker behind, and the next one starts on the same port', async () => {
  const first = await shared.start();
  await first.api.saveRequest({ id: 'kept', requestType: 'WORKER' });
  const workers = await running(first, 2);
  await first.kill9();
  await waitFor('their end', () => !workers.some(isAlive), { timeoutMillis: 2_000 });
  expect((await callAlone(first, 'GET', '/healthz')).status).toBe(0);
  const second = await shared.spawn(['start'], { MUSTER_PORT: String(first.port) });
  await waitFor(
    'the next one',
    async () => (await callAlone(first, 'GET', '/api/requests/request/kept')).status === 200,
  );
  await second.stop();
}, 180_000);

import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEndpoint, sharedSecret } from '../../src/agent/state/agent-directory.js';
import { AgentCluster } from '../support/agent-cluster.js';
import { RawCaller } from '../support/raw-http.js';
import { waitFor } from '../support/wait-for.js';

let cluster: AgentCluster;
let agent: RawCaller;
let agentUrl: string;
let secret: string;

/** Id of a task that runs. */
let id: string;

/** In the environment of the process that the agent runs in. */
const ours = 'our-own-swordfish';

beforeAll(async () => {
  Object.assign(process.env, { DATABASE_URL_OF_TEST: ours, PGPASSWORD: ours });
  cluster = await AgentCluster.start();
  const endpoint = (await readEndpoint(cluster.root))!;
  agentUrl = `http://${endpoint.host}:${endpoint.port}`;
  agent = new RawCaller(agentUrl);
  secret = await sharedSecret(cluster.root);
  const spec = await cluster.launch('echo inside; exec sleep 600');
  await cluster.untilState(spec, 'TASK_RUNNING');
  id = spec.taskId;
});
afterAll(async () => {
  agent.close();
  await cluster.close();
  for (const name of ['DATABASE_URL_OF_TEST', 'PGPASSWORD']) delete process.env[name];
});

const tells = (text: string): boolean => text.includes(secret) || text.includes(ours);

describe('the agent', () => {
  const json = { 'Content-Type': 'application/json' };
  const bearer = (): Record<string, string> => ({ Authorization: `Bearer ${secret}` });
  const paths = [
    '/v1/machines',
    '/v1/tasks',
    '/v1/launch',
    '/v1/kill',
    '/v1/hello',
    '/v1/updates',
    '/v1/usage',
    '/v1/shutdown',
    '/v1/task/sandbox',
  ];

  test.each<[string, () => Record<string, string>]>([
    ['no secret', () => ({})],
    ['an empty one', () => ({ Authorization: '' })],
    ['a scheme alone', () => ({ Authorization: 'Bearer ' })],
    ['another scheme', () => ({ Authorization: `Token ${secret}` })],
    ['the scheme in other letters', () => ({ Authorization: `bearer ${secret}` })],
    ['a part of it', () => ({ Authorization: `Bearer ${secret.slice(0, -1)}` })],
    ['more than it', () => ({ Authorization: `Bearer ${secret}x` })],
    ['it twice', () => ({ Authorization: `Bearer ${secret}, Bearer ${secret}` })],
    [
      'it in another header',
      () => ({ 'X-Authorization': `Bearer ${secret}`, 'Proxy-Authorization': `Bearer ${secret}` }),
    ],
    ['it in a cookie', () => ({ Cookie: `authorization=Bearer ${secret}` })],
    ['other bytes', () => ({ Authorization: '\u00ff\u00fe' })],
  ])('answers nothing to a caller with %s', async (_what, headers) => {
    for (const path of paths) {
      for (const written of [
        path,
        `/${path}`,
        path.toUpperCase(),
        `${path}/`,
        `${path}?authorization=Bearer%20${secret}`,
        `/x/..${path}`,
        `${path};x`,
        path.replace('/v1/', '/%761/'),
      ]) {
        for (const method of ['GET', 'POST', 'PUT', 'HEAD']) {
          const isPost = method === 'POST' || method === 'PUT';
          const answer = await agent.call(written, {
            method,
            headers: { epoch: '1', ...(isPost && json), ...headers() },
            ...(isPost && { body: '{}' }),
          });
          expect([400, 401, 404, 405], `${method} ${written}`).toContain(answer.status);
        }
      }
    }
  });

  test.each(['-1', 'NaN', '', '1.5', '1e3x', 'Infinity', '99999999999999999999', '0x10', 'null', '1, 99999', '٣'])(
    'does nothing in the name of epoch %j, and goes on with the right one',
    async (epoch) => {
      const headers = { ...bearer(), ...json, epoch: Buffer.from(epoch).toString('latin1') };
      const answer = await agent.call('/v1/kill', {
        method: 'POST',
        headers,
        body: JSON.stringify({ taskId: id, graceMillis: 0 }),
      });
      expect(answer.status).toBe(400);
      const right = await agent.call('/v1/hello', { method: 'POST', headers: { ...headers, epoch: '1' }, body: '{}' });
      expect(right.status).toBe(200);
    },
  );

  test('refuses an epoch that is over', async () => {
    const headers = { ...bearer(), ...json, epoch: '0' };
    const kill = { method: 'POST', headers, body: JSON.stringify({ taskId: id, graceMillis: 0 }) };
    expect((await agent.call('/v1/kill', kill)).status).toBe(409);
    expect((await agent.call('/v1/launch', { ...kill, body: '{"launches":[]}' })).status).toBe(409);
  });

  test.each([
    '..',
    '.',
    '../..',
    '../secret',
    '/etc',
    'a/../..',
    '../tasks',
    '%2e%2e',
    'x\u0000',
    '',
    '__proto__',
    'toString',
    'a'.repeat(100),
  ])('finds no task %j, also for a caller that knows the secret', async (taskId) => {
    const headers = { ...bearer(), ...json, epoch: '1' };
    for (const operation of ['sandbox', 'sandbox/list', 'sandbox/read', 'sandbox/download', 'statistics']) {
      const query = `taskId=${encodeURIComponent(taskId)}&path=secret&offset=0&length=100`;
      const { status, body } = await agent.call(`/v1/task/${operation}?${query}`, { headers });
      expect([400, 404], operation).toContain(status);
      expect(tells(body)).toBe(false);
    }
    const body = JSON.stringify({ taskId, graceMillis: 0 });
    const kill = await agent.call('/v1/kill', { method: 'POST', headers, body });
    expect([200, 400]).toContain(kill.status);
    if (kill.status === 200) expect(kill.body).toBe('"GONE"');
    expect(readFileSync(join(cluster.root, 'secret'), 'utf8').trim()).toBe(secret);
  });

  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(agentUrl);
      const socket = connect(Number(port), hostname, () => resolve(socket)).once('error', reject);
    });
  const begin = (length: number): string =>
    `POST /v1/launch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nepoch: 1\r\nContent-Length: ${length}\r\n\r\n`;

  test('keeps nothing of a large body of a caller without the secret', async () => {
    const before = process.memoryUsage().rss;
    const part = Buffer.alloc(1_048_576, ' ');
    const socket = await open();
    socket.on('error', () => undefined);
    let got = '';
    const answered = new Promise<void>((resolve) =>
      socket.on('data', (data) => ((got += data.toString()), resolve())).on('close', () => resolve()),
    );
    socket.write(begin(62 * part.length));
    for (let sent = 0; sent < 62 && !socket.destroyed && got === ''; sent++) {
      if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered]);
    }
    await answered;
    expect(got === '' || got.startsWith('HTTP/1.1 401')).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1_048_576);
    socket.destroy();
  });

  test('is kept waiting by no number of bodies that do not come', async () => {
    const sockets = await Promise.all(Array.from({ length: 300 }, open));
    for (const socket of sockets) socket.on('error', () => undefined).write(begin(1_000));
    expect((await agent.call('/v1/machines', { headers: bearer() })).status).toBe(200);
    const sandbox = await cluster.driver.sandbox(id, 's1');
    expect((await sandbox?.read('stdout', 0, 100))?.data.toString()).toBe('inside\n');
    for (const socket of sockets) socket.destroy();
  });
});

describe('a task', () => {
  test('has nothing of the environment of the agent, nor its secret', async () => {
    const spec = await cluster.run(
      `env; tr '\\0' '\\n' </proc/$$/environ; tr '\\0' '\\n' </proc/$PPID/environ; cat /proc/$$/cmdline /proc/$PPID/cmdline`,
    );
    const seen = cluster.output(spec);
    expect(seen).toContain('PATH=');
    expect(tells(seen)).toBe(false);
    expect(seen).not.toMatch(/DATABASE_URL|PGPASSWORD|VITEST|NODE_ENV|postgres(ql)?:\/\//);
  });

  test.each([
    'gopher://127.0.0.1:6379/_INFO',
    'ftp://127.0.0.1/x',
    'file:///etc/shadow',
    'FILE:///etc/shadow',
    '/etc/shadow',
    'data:,x',
    'dict://127.0.0.1/x',
  ])('gets nothing from %s', async (uri) => {
    const spec = cluster.spec({
      command: { shell: true, value: 'touch started', arguments: [] },
      artifacts: [{ uri }],
    });
    const [answer] = await cluster.driver.launch([spec], 1);
    if (answer?.outcome === 'ACCEPTED') await cluster.untilState(spec, 'TASK_FAILED');
    const got = cluster.sandbox(spec, 'shadow');
    // A file may be there in which nothing has come.
    expect(existsSync(got) ? readFileSync(got, 'utf8') : '').toBe('');
    for (const name of ['started', 'x']) expect(existsSync(cluster.sandbox(spec, name)), name).toBe(false);
  });

  test('that leaves its session, its environment and what else it may leave is killed all the same', async () => {
    const groups = '/sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs';
    const leave = `for file in ${groups}; do (echo $$ >$file); done 2>/dev/null; cd /`;
    const inner = `exec 3>escaped; ${leave}; trap "" TERM HUP INT; echo $$ >&3; while :; do sleep 1; done`;
    const spec = await cluster.launch(`setsid env -i /bin/sh -c '${inner}' & exec sleep 600`);
    const pid = Number(await waitFor('the process', async () => (await cluster.fileOf(spec, 'escaped')).trim()));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    try {
      await cluster.driver.kill(spec.taskId, 's1', 100, 1);
      await cluster.untilState(spec, 'TASK_KILLED');
      await waitFor('the end of what had left', () => !existsSync(`/proc/${pid}`), { timeoutMillis: 5_000 });
    } finally {
      if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
    }
  });
});

test('an agent that cannot write its folder starts nothing, and what is repeated is started once when it can', async () => {
  const other = await AgentCluster.start();
  try {
    const spec = other.spec({ command: { shell: true, value: 'echo ran >>ran; exec sleep 600', arguments: [] } });
    const folder = join(other.root, 'tasks');
    renameSync(folder, `${folder}-aside`);
    writeFileSync(folder, '');
    const [failed] = await other.driver.launch([spec], 1);
    expect(failed?.outcome).not.toBe('ACCEPTED');
    expect(existsSync(other.sandbox(spec, 'ran'))).toBe(false);
    rmSync(folder);
    renameSync(`${folder}-aside`, folder);
    for (let times = 0; times < 3; times++) await other.driver.launch([spec], 1);
    await other.untilState(spec, 'TASK_RUNNING');
    expect(await other.fileOf(spec, 'ran')).toBe('ran\n');
  } finally {
    await other.close();
  }
});

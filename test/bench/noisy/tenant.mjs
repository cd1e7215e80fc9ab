// The noisy tenant, in a process of its own. Is told what to do by its parent, for how long and where, tells it what came back by kind
// of call, and ends with it.
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { deploy, jobs, kinds, ownRequests, request, writer } from './calls.mjs';

setPriority(Number(process.argv[2]));
const answerMillis = 60_000;

/** `slowReads`: connections whose answers are not read, and whose bodies come a byte at a time. */
const slowConnections = 100;

async function callOf(pool, headers, { method = 'GET', path, body, headers: more }, { whole = true, reset = false }) {
  const { statusCode, body: answer } = await pool.request({
    method,
    path: `/api/${path}`,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }), ...more },
    body,
    reset,
    headersTimeout: answerMillis,
    bodyTimeout: answerMillis,
  });
  let bytes = 0;
  if (!whole) {
    for await (const piece of answer) {
      bytes += piece.length;
      break;
    }
    return { status: statusCode, bytes };
  }
  for await (const piece of answer) bytes += piece.length;
  return { status: statusCode, bytes };
}

async function fire(name, { origin, token, until, facts }) {
  const kind = kinds[name];
  const pool = new Pool(origin, { connections: kind.connections, pipelining: 1 });
  const counts = { calls: 0, statuses: {}, bytes: 0, millis: 0 };
  // The control tells kinds apart by it.
  const headers = { authorization: `Token ${token}`, 'x-kind': name };
  let n = 0;
  const one = async () => {
    while (Date.now() < until) {
      const begun = performance.now();
      let outcome;
      try {
        const { status, bytes } = await callOf(pool, headers, kind.call(n++, facts), kind);
        outcome = status;
        counts.bytes += bytes;
      } catch (cause) {
        outcome = cause.code ?? cause.name;
        await pause(10);
      }
      counts.calls += 1;
      counts.millis += performance.now() - begun;
      counts.statuses[outcome] = (counts.statuses[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: kind.connections }, one));
  await pool.destroy();
  return counts;
}

/** Each connection is opened again when it was ended. */
async function beSlow({ origin, token, until }) {
  const { hostname, port } = new URL(origin);
  const counts = { calls: 0, statuses: {}, bytes: 0, millis: 0 };
  const one = async (_, index) => {
    while (Date.now() < until) {
      const begun = performance.now();
      const socket = connect(Number(port), hostname);
      const head = `Host: ${hostname}\r\nAuthorization: Token ${token}\r\n`;
      const isReader = index % 2 === 0;
      const ended = new Promise((resolve) => socket.once('close', resolve));
      socket.once('error', () => undefined);
      socket.write(
        isReader
          ? `GET /api/requests HTTP/1.1\r\n${head}\r\n`
          : `POST /api/requests HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`,
      );
      const trickle = isReader ? undefined : setInterval(() => socket.write(' '), 1_000);
      if (isReader) socket.pause();
      else socket.resume();
      await Promise.race([ended, pause(Math.max(0, until - Date.now()))]);
      clearInterval(trickle);
      socket.destroy();
      counts.calls += 1;
      counts.millis += performance.now() - begun;
      await pause(10);
    }
  };
  await Promise.all(Array.from({ length: slowConnections }, one));
  return counts;
}

async function prepare({ origin, token }) {
  const call = async (method, path, body) => {
    const answer = await fetch(`${origin}/api/${path}`, {
      method,
      headers: { authorization: `Token ${token}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const ids = [
    'noisy-big',
    ...Array.from({ length: jobs }, (_, index) => `noisy-job-${index}`),
    ...Array.from({ length: ownRequests }, (_, index) => `noisy-own-${index}`),
  ];
  for (const id of ids) await call('POST', 'requests', request(id));
  for (const id of ids.slice(0, jobs + 1)) await call('POST', 'deploys', deploy(id, 'd1'));
  await call('POST', 'requests', { ...request(writer), requestType: 'WORKER' });
  const command = `i=0; while [ $i -lt 50000 ]; do echo "line $i of a log that is searched again and again, by everybody"; i=$((i+1)); done; exec sleep 100000`;
  await call('POST', 'deploys', deploy(writer, 'd1', { command }));
  for (;;) {
    const { healthy = [], notYetHealthy = [] } = await call('GET', `tasks/ids/request/${writer}`);
    const [task] = [...healthy, ...notYetHealthy];
    if (task) return { taskId: task.id };
    await pause(200);
  }
}

process.on('message', async ({ what, only, seconds, ...world }) => {
  if (what === 'prepare') return process.send({ facts: await prepare(world) });
  const until = Date.now() + seconds * 1_000;
  const cpuBefore = process.cpuUsage();
  const made = await Promise.all(
    only.map(async (name) => [
      name,
      await (name === 'slowReads' ? beSlow : (told) => fire(name, told))({ ...world, until }),
    ]),
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  process.send({ kinds: Object.fromEntries(made), cpuSeconds: (user + system) / 1e6 });
});
process.on('disconnect', () => process.exit(0));

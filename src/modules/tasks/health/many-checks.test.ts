import net, { type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { aWhile, HealthScene } from '../../../../test/support/health-scene.js';
import { waitFor } from '../../../../test/support/wait-for.js';

let scene: HealthScene;
const busy = 25;

beforeAll(async () => {
  scene = await HealthScene.start({ maxConcurrentHealthchecks: busy, maxHealthcheckResultsPerTask: 5 });
});
afterAll(() => scene.close());
afterEach(() => scene.clear());

/** Every connection gets this. */
async function rawProgram(connected: (socket: Socket) => void): Promise<{ port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    connected(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

const ten = Buffer.alloc(10 * 2 ** 20, 'x');
const slowly = (socket: Socket) => {
  const timer = setInterval(() => socket.write('H'), 50);
  socket.on('close', () => clearInterval(timer));
};

describe('a good task keeps its schedule beside a hundred', () => {
  test.each<{ name: string; connected: (socket: Socket) => void }>([
    { name: 'that hang', connected: () => undefined },
    { name: 'that answer byte by byte', connected: slowly },
    { name: 'that close the connection', connected: (socket) => socket.destroy() },
    {
      name: 'that redirect for ever',
      connected: (socket) =>
        void socket.on('data', () =>
          socket.write('HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n'),
        ),
    },
    {
      name: 'that answer 10 MB',
      connected: (socket) => {
        socket.write(`HTTP/1.1 500 Bad\r\nContent-Length: ${ten.length}\r\n\r\n`);
        socket.write(ten);
      },
    },
  ])('$name', async ({ connected }) => {
    const bad = await rawProgram(connected);
    try {
      const good = await scene.program(() => ({ status: 503 }));
      await scene.deploy({ intervalSeconds: 0.3, responseTimeoutSeconds: 60 });
      for (let no = 1; no <= 100; no++) await scene.run([bad.port], no);
      await scene.run([good.port], 101);
      scene.announce();
      // Were places kept by those that hang, 25 at once, it would be asked every 4 minutes.
      await waitFor('some checks of it', () => good.asked >= 5);
    } finally {
      bad.close();
    }
  });
});

test('of many results only the newest are kept, and the retries are counted all the same', async () => {
  const program = await scene.program(() => ({ status: 503, text: 'x'.repeat(20_000) }));
  await scene.deploy({ maxRetries: 11 });
  await scene.run([program.port]);
  scene.announce();
  await waitFor('the last check', () => program.asked === 12, { timeoutMillis: 20_000 });
  await waitFor(
    'its result',
    async () => (await scene.tx.query('SELECT healthchecks_dropped AS n FROM task'))[0].n === 7,
  );
  await scene.look();
  await aWhile();
  expect(program.asked).toBe(12);
  const results = await scene.results();
  expect(results).toHaveLength(5);
  expect(new Set(results.map((result) => (result.response_body as string).length))).toEqual(new Set([8_192]));
});

test('the next leader goes on with the number of checks, dropped results included', async () => {
  const program = await scene.program(() => ({ status: 503 }));
  await scene.deploy({ maxRetries: 8 });
  const taskId = await scene.run([program.port]);
  await scene.tx.query('UPDATE task SET healthchecks_dropped = 5');
  await scene.tx.query(
    `INSERT INTO task_healthcheck (task_id, checked_at, startup, status_code)
     SELECT $1, now() - n * interval '1 second', false, 503 FROM generate_series(1, 3) n`,
    [taskId.id],
  );
  scene.announce();
  await waitFor('the last check', () => program.asked === 1);
  await aWhile();
  expect(program.asked).toBe(1);
});

test('thousands of planned checks need no timer each', async () => {
  const program = await scene.program();
  await scene.deploy({ startupDelaySeconds: 600 });
  await scene.run([program.port]);
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  await scene.look();
  const before = timers();
  await scene.tx.query(
    `INSERT INTO task (task_id, request_id, deploy_id, slave_id, instance_no, host, rack_id, started_at, pending_type, cpus,
       memory_mb, disk_mb, ports, incarnation, state, state_at, running_at)
     SELECT task_id || n, request_id, deploy_id, slave_id, n + 1, host, rack_id, started_at + n * interval '1 ms', pending_type,
       cpus, memory_mb, disk_mb, ports, incarnation, state, state_at, running_at
     FROM task, generate_series(1, 3000) n`,
  );
  await scene.look();
  expect(timers() - before).toBeLessThan(50);
  expect(program.asked).toBe(0);
});

import { connect, createServer, type AddressInfo } from 'node:net';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { freePort } from '../../../test/support/free-port.js';
import { targetOf } from '../../../test/support/tcp-proxy.js';
import { checkDatabase, whenStarted } from './check-database.js';

test('a database that answers is accepted', async () => {
  await expect(checkDatabase(inject('adminUrl'))).resolves.toEqual({ connections: expect.any(Number) });
});

test.each([
  [
    'nothing listens',
    (url: URL) => ((url.hostname = '127.0.0.1'), (url.port = '1')),
    /^The database at 127\.0\.0\.1:1\/\S+ cannot be reached: .*ECONNREFUSED/,
  ],
  [
    'the password is wrong',
    (url: URL) => (url.password = 'wrong'),
    /cannot be reached: password authentication failed/,
  ],
  [
    'there is no such database',
    (url: URL) => (url.pathname = '/nothing'),
    /cannot be reached: database "nothing" does not exist/,
  ],
])('when %s, one line says so, without the password', async (_name, change, expected) => {
  const url = new URL(inject('adminUrl'));
  change(url);
  const message = await checkDatabase(url.toString()).then(
    () => '',
    (cause: Error) => cause.message,
  );
  expect(message).toMatch(expected);
  expect(message).not.toContain('\n');
  expect(message).not.toContain(`:${new URL(inject('adminUrl')).password}@`);
});

describe('a server that is not there', () => {
  async function absent() {
    const port = await freePort();
    const url = new URL(inject('adminUrl'));
    url.hostname = '127.0.0.1';
    url.port = String(port);
    return { port, url: url.toString() };
  }
  const listenOn = async (port: number) => {
    const target = targetOf(inject('adminUrl'));
    const server = createServer((near) => {
      const far = connect(target);
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy());
      far.on('error', () => near.destroy());
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  };

  test('is waited for, which is told once', async () => {
    const { port, url } = await absent();
    const told: string[] = [];
    let checks = 0;
    const checkpoint = () => {
      // The third attempt finds it.
      if (++checks === 2) void listenOn(port);
    };
    await whenStarted(url, { tell: (line) => told.push(line), checkpoint });
    expect(checks).toBeGreaterThanOrEqual(2);
    expect(told).toEqual([expect.stringMatching(/ECONNREFUSED .*\. Waiting up to 60 seconds for it$/)]);
  });

  test('is given up after that time, or when a stop is asked for', async () => {
    const { url } = await absent();
    const tell = () => undefined;
    await expect(whenStarted(url, { withinMillis: 0, tell, checkpoint: tell })).rejects.toThrow('cannot be reached');
    const checkpoint = () => {
      throw new Error('stopped');
    };
    await expect(whenStarted(url, { tell, checkpoint })).rejects.toThrow('stopped');
  });

  test('is not waited for when it refuses the caller', async () => {
    const url = new URL(inject('adminUrl'));
    url.pathname = '/nothing';
    const told: string[] = [];
    const options = { tell: (line: string) => void told.push(line), checkpoint: () => undefined };
    await expect(whenStarted(url.toString(), options)).rejects.toThrow('database "nothing" does not exist');
    expect(told).toEqual([]);
  });
});

test('a server that accepts and says nothing is given up', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(checkDatabase(`postgres://a@127.0.0.1:${port}/b`)).rejects.toThrow(/cannot be reached: timeout/);
}, 15_000);

test('a line that carries everything but notifications, as a pooler in transaction mode does, is refused', async () => {
  const target = targetOf(inject('adminUrl'));
  const server = createServer((near) => {
    const far = connect(target);
    near.pipe(far);
    let held = Buffer.alloc(0);
    far.on('data', (chunk) => {
      held = Buffer.concat([held, chunk]);
      // Each message of the server: one letter, then its length in four bytes, counted without the letter.
      while (held.length >= 5 && held.length > held.readUInt32BE(1)) {
        const end = held.readUInt32BE(1) + 1;
        if (held[0] !== 'A'.charCodeAt(0)) near.write(held.subarray(0, end));
        held = held.subarray(end);
      }
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = new URL(inject('adminUrl'));
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  await expect(checkDatabase(url.toString())).rejects.toThrow(
    /does not deliver notifications: DATABASE_URL must point at PostgreSQL itself, not at a pooler$/,
  );
}, 15_000);

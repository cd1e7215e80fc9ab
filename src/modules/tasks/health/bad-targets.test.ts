import http from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { spawnNode } from '../../../../test/support/spawn.js';
import { waitFor } from '../../../../test/support/wait-for.js';
import { probe, type ProbeTarget } from './http-probe.js';
import { testCertificate } from '../../../../test/support/fixtures/test-certificate.js';
import { TimedQueue } from './timed-queue.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

interface Target {
  port: number;
  /** Connections that were made and are not closed yet. */
  sockets: Set<Socket>;
  connections: number;
}

async function listen(server: Server): Promise<Target> {
  const target: Target = { port: 0, sockets: new Set(), connections: 0 };
  server.on('connection', (socket: Socket) => {
    target.connections += 1;
    target.sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => target.sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target.port = (server.address() as AddressInfo).port;
  closers.push(() => {
    for (const socket of target.sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return target;
}
/** A server that answers with anything but HTTP. */
const raw = (connected: (socket: Socket) => void) =>
  listen(
    net.createServer((socket) => {
      connected(socket);
      // Unread, the end of a connection is not seen.
      socket.resume();
    }),
  );
const answering = (handler: http.RequestListener) => listen(http.createServer(handler));

const ask = (port: number, changes: Partial<ProbeTarget> = {}) =>
  probe(
    {
      host: '127.0.0.1',
      port,
      uri: '/health',
      protocol: 'HTTP',
      method: 'GET',
      timeoutMillis: 300,
      maxBodyBytes: 8_192,
      ...changes,
    },
    new AbortController().signal,
    new TimedQueue(),
  );
const tooLate = { errorMessage: 'No answer within 300 ms', refused: false };
const failed = { errorMessage: expect.any(String), refused: false };
const allClosed = (target: Target) => waitFor('its connections to be closed', () => target.sockets.size === 0);
/** Writes again and again until the other side has enough. */
function keepWriting(
  socket: { write(text: string): unknown; on(event: 'close', done: () => void): unknown },
  text: string,
  everyMillis: number,
): void {
  const timer = setInterval(() => socket.write(text), everyMillis);
  socket.on('close', () => clearInterval(timer));
}

describe.each(['HTTP', 'HTTP2', 'HTTPS', 'HTTPS2'] as const)('over %s, a target', (protocol) => {
  test('that accepts and says nothing ends with the time limit, and its connection is closed', async () => {
    const target = await raw(() => undefined);
    expect(await ask(target.port, { protocol })).toEqual(tooLate);
    await allClosed(target);
  });
  test('that closes the connection at once has failed, and does not count as one that refuses', async () => {
    const target = await raw((socket) => socket.destroy());
    expect(await ask(target.port, { protocol, timeoutMillis: 5_000 })).toEqual(failed);
  });
  test('that answers with something else has failed', async () => {
    const target = await raw((socket) => socket.write('220 mail.example ESMTP ready\r\n'));
    expect(await ask(target.port, { protocol })).toEqual(failed);
    await allClosed(target);
  });
});

test('a target that answers byte by byte ends with the time limit of the whole check', async () => {
  const target = await raw((socket) => {
    const text = `HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`;
    let sent = 0;
    const timer = setInterval(() => socket.write(text[sent++]!), 10);
    socket.on('close', () => clearInterval(timer));
  });
  expect(await ask(target.port)).toEqual(tooLate);
  await allClosed(target);
});

test('a target that answers slowly after its status line ends with the time limit too', async () => {
  const target = await answering((_request, response) => {
    response.writeHead(200);
    keepWriting(response, 'x', 10);
  });
  expect(await ask(target.port)).toEqual(tooLate);
  await allClosed(target);
});

describe('a target that answers 10 MB', () => {
  const tenMegabytes = Buffer.alloc(10 * 2 ** 20, 'x');
  const first = { statusCode: 200, responseBody: 'x'.repeat(8_192), refused: false };

  test('is read as far as the text is kept, and its connection is closed', async () => {
    const target = await answering((_request, response) => response.end(tenMegabytes));
    let received = 0;
    expect(await ask(target.port, { timeoutMillis: 5_000 })).toEqual(first);
    for (const socket of target.sockets) received += socket.bytesWritten - socket.writableLength;
    await allClosed(target);
    expect(received).toBeLessThan(8 * 2 ** 20);
  });
  test('over HTTP/2 as well', async () => {
    const target = await listen(http2.createServer((_request, response) => response.end(tenMegabytes)));
    expect(await ask(target.port, { protocol: 'HTTP2', timeoutMillis: 5_000 })).toEqual(first);
    await allClosed(target);
  });
  test('a hundred of them at once do not fill the memory', async () => {
    const target = await answering((_request, response) => response.end(tenMegabytes));
    const before = process.memoryUsage.rss();
    const results = await Promise.all(Array.from({ length: 100 }, () => ask(target.port, { timeoutMillis: 20_000 })));
    expect(results.every(({ statusCode }) => statusCode === 200)).toBe(true);
    expect(process.memoryUsage.rss() - before).toBeLessThan(400 * 2 ** 20);
  });
});

test('an answer that is no text takes no more bytes as text than are to be kept', async () => {
  const target = await answering((_request, response) => response.end(Buffer.alloc(10_000, 0xff)));
  const { responseBody } = await ask(target.port);
  expect(Buffer.byteLength(responseBody!)).toBeLessThanOrEqual(8_192);
});

describe('redirects', () => {
  const redirect = (to: (request: http.IncomingMessage) => string) =>
    answering((request, response) => response.writeHead(302, { location: to(request) }).end());

  test('for ever are given up after five', async () => {
    let asked = 0;
    const target = await redirect(() => `/${++asked}`);
    expect(await ask(target.port)).toEqual({ errorMessage: 'More than 5 redirects', refused: false });
    expect(asked).toBe(6);
    await allClosed(target);
  });
  test.each([
    ['another port', (port: number) => `http://127.0.0.1:${port}/there`],
    ['another name with another port', (port: number) => `http://localhost:${port}/there`],
    ['another port without a scheme', (port: number) => `//127.0.0.1:${port}/there`],
    ['another host on the same port', (_other: number, own: number) => `http://127.0.0.2:${own}/`],
    ['a user of the same host', (_other: number, own: number) => `http://a:b@127.0.0.1:${own}/`],
  ])('to %s are not followed', async (_name, to) => {
    let asked = 0;
    const other = await answering((_request, response) => response.end(`${++asked}`));
    const target: { port: number } = await redirect(() => to(other.port, target.port));
    expect(await ask(target.port)).toEqual({
      errorMessage: expect.stringMatching(/^A redirect to http:.* is not followed$/),
      refused: false,
    });
    expect(asked).toBe(0);
  });
  test('to the same host and port are followed, by whichever of the names of this machine', async () => {
    const target = await answering((request, response) => {
      if (request.url === '/there') return response.end('arrived');
      return response.writeHead(307, { location: `http://localhost:${target.port}/there` }).end();
    });
    expect(await ask(target.port)).toMatchObject({ statusCode: 200, responseBody: 'arrived' });
  });
  test.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'data:text/plain,ok'])(
    'to %s are a failure',
    async (location) => {
      const target = await redirect(() => location);
      expect(await ask(target.port)).toEqual({
        errorMessage: expect.stringContaining('is not followed'),
        refused: false,
      });
    },
  );
  test('to what is no address are a failure', async () => {
    const target = await redirect(() => 'http://[');
    expect(await ask(target.port)).toEqual(failed);
  });
  test('that each take long share one time limit', async () => {
    const target = await answering((_request, response) => {
      setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 100);
    });
    expect(await ask(target.port)).toEqual(tooLate);
  });
});

describe('a certificate', () => {
  test.each(['HTTPS', 'HTTPS2'] as const)(
    'of another host is taken over %s: the question is whether the task answers',
    async (protocol) => {
      const server = http2.createSecureServer(
        { ...testCertificate, allowHTTP1: true },
        (_request, response) => void response.end('ok'),
      );
      const target = await listen(server);
      expect(await ask(target.port, { protocol, host: 'localhost', timeoutMillis: 5_000 })).toMatchObject({
        statusCode: 200,
      });
    },
  );
});

describe('broken HTTP:', () => {
  test.each([
    { name: 'a status line that is none', text: 'HTTP/1.1 banana\r\n\r\n' },
    { name: 'a chunk length that is none', text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n' },
    { name: 'two lengths', text: 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab' },
    {
      name: 'a switch to another protocol without being asked',
      text: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    },
  ])('$name is a failure', async ({ text }) => {
    const target = await raw((socket) => socket.on('data', () => socket.write(text)));
    expect(await ask(target.port, { timeoutMillis: 5_000 })).toEqual(failed);
    await allClosed(target);
  });
  test('a body that ends too soon is a failure', async () => {
    const target = await raw((socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc')),
    );
    expect(await ask(target.port, { timeoutMillis: 5_000 })).toEqual(failed);
  });
});

test('answers of the 100s are passed over until the real one comes', async () => {
  const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const target = await raw((socket) =>
    socket.once('data', () => socket.write(`${early}${early}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`)),
  );
  expect(await ask(target.port)).toEqual({ statusCode: 200, responseBody: 'ok', refused: false });
});

test('answers of the 100s without end end with the time limit', async () => {
  const target = await raw((socket) => keepWriting(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 1));
  expect(await ask(target.port)).toEqual(tooLate);
  await allClosed(target);
});

test('headers that never end are a failure after a bounded number of bytes', async () => {
  const target = await raw((socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n');
      keepWriting(socket, `X-More: ${'y'.repeat(1_000)}\r\n`, 1);
    }),
  );
  expect(await ask(target.port, { timeoutMillis: 5_000 })).toEqual({
    errorMessage: expect.stringContaining('Headers Overflow'),
    refused: false,
  });
  await allClosed(target);
});

test('one header that never ends is a failure', async () => {
  const target = await raw((socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nX-More: ');
      keepWriting(socket, 'y'.repeat(1_000), 1);
    }),
  );
  expect(await ask(target.port, { timeoutMillis: 2_000 })).toEqual(failed);
  await allClosed(target);
});

test('a target that does not even accept connections leaves none of them waiting', async () => {
  // A stopped process with a full queue: the kernel lets further attempts hang.
  const program = new URL('../../../../test/support/programs/deaf-server.mjs', import.meta.url);
  const deaf = spawnNode([fileURLToPath(program)]);
  closers.push(() => deaf.kill());
  const port = Number(await deaf.line('port '));
  deaf.child.kill('SIGSTOP');
  const fillers = Array.from({ length: 4 }, () => net.connect(port, '127.0.0.1').on('error', () => undefined));
  const connecting = () => process.getActiveResourcesInfo().filter((name) => name.endsWith('ConnectWrap')).length;
  await waitFor('the queue to be full', () => fillers.some((socket) => socket.readyState === 'open'));
  const before = connecting();
  const asked = ask(port);
  await waitFor('the attempt', () => connecting() > before);
  expect(await asked).toEqual(tooLate);
  await waitFor('the attempt to be given up', () => connecting() <= before);
  for (const socket of fillers) socket.destroy();
});

test('an address of version 6 is asked', async () => {
  const server = http.createServer((_request, response) => response.end('six'));
  const isThere = await new Promise<boolean>((resolve) =>
    server.once('error', () => resolve(false)).listen(0, '::1', () => resolve(true)),
  );
  if (!isThere) return;
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  expect(await ask((server.address() as AddressInfo).port, { host: '::1' })).toMatchObject({ responseBody: 'six' });
});

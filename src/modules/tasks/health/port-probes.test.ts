import http from 'node:http';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { grpcProbe } from './grpc-probe.js';
import type { ProbeResult } from './probe-result.js';
import { tcpProbe } from './tcp-probe.js';
import { TimedQueue } from './timed-queue.js';

const servers: net.Server[] = [];
const sockets = new Set<net.Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

async function listening(server: net.Server): Promise<number> {
  server.on('connection', (socket: net.Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}
async function closedPort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
type Probe = typeof tcpProbe;
const ask = (probe: Probe, port: number, timeoutMillis = 5_000, signal = new AbortController().signal) =>
  probe({ host: '127.0.0.1', port, timeoutMillis }, signal, new TimedQueue());

/** A server that speaks gRPC as far as one call needs it. */
const grpc = (message: Buffer, status: number | undefined, text?: string): Promise<number> => {
  const server = http2.createServer();
  server.on('stream', (stream, headers) => {
    const isAsked =
      headers[':path'] === '/grpc.health.v1.Health/Check' && headers['content-type'] === 'application/grpc';
    stream.respond({ ':status': isAsked ? 200 : 404, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () =>
      stream.sendTrailers(status === undefined ? {} : { 'grpc-status': status, ...(text && { 'grpc-message': text }) }),
    );
    stream.on('error', () => undefined);
    stream.resume().end(message);
  });
  return listening(server);
};
/** One message: not compressed, its length, its bytes. */
const framed = (...bytes: number[]) => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);

describe('by gRPC', () => {
  test.each<{ name: string; message: Buffer; status?: number; text?: string; is: Partial<ProbeResult> }>([
    { name: 'SERVING passes', message: framed(8, 1), status: 0, is: { statusCode: 200, responseBody: 'SERVING' } },
    {
      name: 'NOT_SERVING fails',
      message: framed(8, 2),
      status: 0,
      is: { errorMessage: 'The health service says NOT_SERVING' },
    },
    {
      name: 'no status is UNKNOWN',
      message: framed(),
      status: 0,
      is: { errorMessage: 'The health service says UNKNOWN' },
    },
    {
      name: 'another message fails',
      message: framed(16, 1),
      status: 0,
      is: { errorMessage: 'The health service says something else' },
    },
    {
      name: 'a service that is not there fails',
      message: Buffer.alloc(0),
      status: 12,
      text: 'unknown service',
      is: { errorMessage: 'gRPC status 12: unknown service' },
    },
    {
      name: 'an answer that breaks off fails',
      message: framed(8, 1),
      is: { errorMessage: 'An answer without a status of gRPC' },
    },
    {
      name: 'an endless answer fails',
      message: Buffer.alloc(5_000),
      status: 0,
      is: { errorMessage: 'The answer is none of the health service' },
    },
  ])('$name', async ({ message, status, text, is }) => {
    const found = await ask(grpcProbe, await grpc(message, status, text));
    expect(found).toMatchObject({ ...is, refused: false });
    expect(found.statusCode).toBe(is.statusCode);
  });

  test('a server of plain HTTP fails', async () => {
    const port = await listening(http.createServer((_request, response) => response.end('ok')));
    const found = await ask(grpcProbe, port);
    expect(found.errorMessage).toBeTruthy();
    expect(found.statusCode).toBeUndefined();
  });
});

describe.each<[string, Probe]>([
  ['TCP', tcpProbe],
  ['gRPC', grpcProbe],
])('by %s', (kind, probe) => {
  test('a port on which nothing listens refuses', async () => {
    expect(await ask(probe, await closedPort())).toMatchObject({
      refused: true,
      errorMessage: expect.stringContaining('ECONNREFUSED'),
    });
  });
  test('a check that is told to stop ends', async () => {
    const port = await listening(net.createServer());
    const stop = new AbortController();
    stop.abort();
    expect((await ask(probe, port, 60_000, stop.signal)).statusCode).toBeUndefined();
  });
  test('a server that accepts and says nothing', async () => {
    const port = await listening(net.createServer());
    const found = await ask(probe, port, 200);
    if (kind === 'TCP') expect(found).toMatchObject({ statusCode: 200, refused: false });
    else expect(found).toEqual({ errorMessage: 'No answer within 200 ms', refused: false });
  });
});

import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { probe, type ProbeTarget } from './http-probe.js';
import { TimedQueue } from './timed-queue.js';
import { testCertificate } from '../../../../test/support/fixtures/test-certificate.js';

const servers: Server[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve)))));

/** Starts a server on a free port of this machine. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}
const answering = (handler: http.RequestListener) => listening(http.createServer(handler));

const ask = (port: number, changes: Partial<ProbeTarget> = {}, signal = new AbortController().signal) =>
  probe(
    {
      host: '127.0.0.1',
      port,
      uri: '/health',
      protocol: 'HTTP',
      method: 'GET',
      timeoutMillis: 5_000,
      maxBodyBytes: 20,
      ...changes,
    },
    signal,
    new TimedQueue(),
  );

describe('an answer', () => {
  test.each([
    { sent: '/health', seen: 'GET /health' },
    { sent: 'health', seen: 'GET /health' },
    { sent: '/a?b=c', seen: 'GET /a?b=c' },
  ])('to $sent is told with its status and text', async ({ sent, seen }) => {
    const port = await answering((request, response) =>
      response.writeHead(200).end(`${request.method} ${request.url}`),
    );
    expect(await ask(port, { uri: sent })).toEqual({ statusCode: 200, responseBody: seen, refused: false });
  });
  test('to POST is asked for with POST', async () => {
    const port = await answering((request, response) => response.end(request.method));
    expect(await ask(port, { method: 'POST' })).toMatchObject({ responseBody: 'POST' });
  });
  test('without text has none', async () => {
    const port = await answering((_request, response) => response.writeHead(503).end());
    expect(await ask(port)).toEqual({ statusCode: 503, responseBody: undefined, refused: false });
  });
  test('that never ends is cut, between characters and without NUL', async () => {
    const port = await answering((_request, response) => {
      response.write('\u0000012345678901234567€€€');
      const timer = setInterval(() => response.write('x'.repeat(1000)), 5);
      response.on('close', () => clearInterval(timer));
    });
    expect(await ask(port)).toMatchObject({ statusCode: 200, responseBody: '\uFFFD01234567890123456' });
  });
});

describe('the protocol', () => {
  test('HTTPS takes any certificate', async () => {
    const port = await listening(
      https.createServer(testCertificate, (request, response) => response.end(request.httpVersion)),
    );
    expect(await ask(port, { protocol: 'HTTPS' })).toMatchObject({ statusCode: 200, responseBody: '1.1' });
  });
  test('HTTPS2 speaks HTTP/2', async () => {
    const port = await listening(
      http2.createSecureServer(testCertificate, (request, response) => response.end(request.httpVersion)),
    );
    expect(await ask(port, { protocol: 'HTTPS2' })).toMatchObject({ statusCode: 200, responseBody: '2.0' });
  });
  test('HTTP2 speaks HTTP/2 without encryption', async () => {
    const port = await listening(http2.createServer((request, response) => response.end(request.httpVersion)));
    expect(await ask(port, { protocol: 'HTTP2' })).toMatchObject({ statusCode: 200, responseBody: '2.0' });
  });
});

describe('redirects', () => {
  test('are followed, after POST with GET where the status says so', async () => {
    const port = await answering((request, response) => {
      if (request.url === '/health') response.writeHead(302, { location: '/elsewhere' }).end();
      else response.end(`${request.method} ${request.url}`);
    });
    expect(await ask(port, { method: 'POST' })).toMatchObject({ statusCode: 200, responseBody: 'GET /elsewhere' });
  });
  test('that keep the method keep it', async () => {
    const port = await answering((request, response) => {
      if (request.url === '/health') response.writeHead(307, { location: '/elsewhere' }).end();
      else response.end(request.method);
    });
    expect(await ask(port, { method: 'POST' })).toMatchObject({ responseBody: 'POST' });
  });
  test('in a circle are a failure', async () => {
    const port = await answering((_request, response) => response.writeHead(302, { location: '/health' }).end());
    expect(await ask(port)).toEqual({ errorMessage: 'More than 5 redirects', refused: false });
  });
  test('to nowhere are told as they are', async () => {
    const port = await answering((_request, response) => response.writeHead(302).end());
    expect(await ask(port)).toMatchObject({ statusCode: 302 });
  });
});

describe('no answer', () => {
  const closedPort = async () => {
    const port = await answering(() => undefined);
    await new Promise((resolve) => servers.pop()!.close(resolve));
    return port;
  };
  test.each(['127.0.0.1', 'localhost'])('because nothing listens on %s is a refused connection', async (host) => {
    const result = await ask(await closedPort(), { host });
    expect(result).toEqual({ errorMessage: expect.stringContaining('ECONNREFUSED'), refused: true });
  });
  test('because nothing listens over HTTP/2 is one too', async () => {
    expect(await ask(await closedPort(), { protocol: 'HTTP2' })).toMatchObject({ refused: true });
  });
  test('in time is a failure', async () => {
    const port = await answering(() => undefined);
    expect(await ask(port, { timeoutMillis: 50 })).toEqual({ errorMessage: 'No answer within 50 ms', refused: false });
  });
  test('but a closed connection is a failure', async () => {
    const port = await answering((request) => request.socket.destroy());
    expect(await ask(port)).toEqual({ errorMessage: expect.any(String), refused: false });
  });
  test('but plain text where encryption is asked for is a failure', async () => {
    const port = await answering((_request, response) => response.end());
    expect(await ask(port, { protocol: 'HTTPS' })).toEqual({ errorMessage: expect.any(String), refused: false });
  });
  test('because it is not wanted any more ends at once', async () => {
    const port = await answering(() => undefined);
    const ending = new AbortController();
    const asked = ask(port, {}, ending.signal);
    ending.abort();
    expect(await asked).toMatchObject({ refused: false });
  });
});

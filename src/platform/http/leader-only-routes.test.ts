import { once } from 'node:events';
import { createServer, request as call, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler } from 'express';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { calledAddress, callerAddress } from './addresses-of-call.js';
import { acceptForwardedCalls, forwardToLeader } from './leader-only-routes.js';
import { assignRequestId } from './middleware.js';

const key = 'only-workers-know-it';
const servers: Server[] = [];
async function listen(app: express.Express): Promise<number> {
  const server = createServer(app);
  servers.push(server);
  // As in the product, who waits to be asked for a body is asked by whoever reads it.
  server.on('checkContinue', (asking, answer) => void server.emit('request', asking, answer));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

let leader: string;
let worker: string;
beforeEach(async () => {
  const inLeader = express();
  inLeader.use(acceptForwardedCalls(key), express.text());
  inLeader.use((request, response) => {
    const { method, originalUrl, headers, body } = request;
    const [remoteAddress, localAddress] = [callerAddress(request), calledAddress(request)];
    response.status(202).set({ 'X-Own': 'yes' });
    response.json({ method, originalUrl, headers, remoteAddress, localAddress, body: body as unknown });
  });
  const port = await listen(inLeader);
  const inWorker = express();
  inWorker.use(assignRequestId, forwardToLeader({ port, key }));
  inWorker.use((_request, response) => void response.json('here'));
  const refused: ErrorRequestHandler = (cause: Error, _request, response, _next) =>
    void response.status(503).json(cause.message);
  inWorker.use(refused);
  leader = `http://127.0.0.1:${port}`;
  worker = `http://127.0.0.1:${await listen(inWorker)}`;
});

interface Seen {
  method: string;
  originalUrl: string;
  headers: Record<string, string>;
  remoteAddress: string;
  body: string;
}

test('calls that concern the process that leads reach it as they came, and its answers come back', async () => {
  const answer = await fetch(`${worker}/api/test/exception?message=a%20b`, {
    method: 'POST',
    body: 'x'.repeat(50_000),
    headers: { 'Content-Type': 'text/plain', 'X-Request-Id': 'mine', Authorization: 'Token t' },
  });
  expect([answer.status, answer.headers.get('x-own')]).toEqual([202, 'yes']);
  const seen = (await answer.json()) as Seen;
  expect(seen).toMatchObject({ method: 'POST', originalUrl: '/api/test/exception?message=a%20b' });
  expect(seen.body).toHaveLength(50_000);
  expect(seen.headers).toMatchObject({ 'x-request-id': 'mine', authorization: 'Token t', host: new URL(worker).host });
  const empty = (await (await fetch(`${worker}/api/disasters/failover`, { method: 'POST' })).json()) as Seen;
  expect(empty.headers).toMatchObject({ 'content-length': '0' });
});

test('a caller that waits to be asked for its body is asked', async () => {
  const headers = { Expect: '100-continue', 'Content-Type': 'text/plain', 'Content-Length': '4' };
  const sent = call(`${worker}/api/test/exception`, { method: 'POST', headers });
  sent.flushHeaders();
  sent.once('continue', () => sent.end('body'));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  expect(JSON.parse(await text(answer))).toMatchObject({ body: 'body' });
});

test('all others are answered by the worker', async () => {
  for (const path of ['/api/metrics/zk-bytes', '/api/disasters', '/api/tests/x', '/healthz', '/x/metrics'])
    expect(await (await fetch(worker + path)).json(), path).toBe('here');
});

test('a caller cannot choose the address from which the process that leads takes it to call', async () => {
  const headers = { 'X-Muster-Forwarded': `${key} 10.1.2.3 10.1.2.4` };
  const seen = (await (await fetch(`${worker}/metrics`, { headers })).json()) as Seen;
  expect(seen.remoteAddress).toBe('127.0.0.1');
  expect(JSON.stringify(seen.headers)).not.toContain(key);
});

test('the process that leads answers nothing else', async () => {
  for (const given of [undefined, 'wrong', `${key}x 10.1.2.3 10.1.2.4`]) {
    const answer = await fetch(`${leader}/metrics`, {
      headers: given === undefined ? {} : { 'X-Muster-Forwarded': given },
    });
    expect([answer.status, await answer.text()]).toEqual([404, '']);
  }
});

test('while it does not answer, the caller is told to try again', async () => {
  const [inLeader] = servers;
  inLeader!.close();
  inLeader!.closeAllConnections();
  const answer = await fetch(`${worker}/readyz`);
  expect([answer.status, await answer.json()]).toEqual([503, 'The process that leads does not answer; try again']);
});

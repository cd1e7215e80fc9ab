import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorCodes } from '../error-codes.js';
import type { ErrorCode } from '../errors.js';
import { errorBody } from './error.filter.js';
import type { UnfinishedAnswers } from './unfinished-answers.js';

type Problem = readonly [ErrorCode, string];

const problems: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: ['HEADERS_TOO_LARGE', 'The URL and the headers together are longer than this service accepts'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['BODY_TOO_LARGE', 'The chunk extensions are longer than this service accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['CALL_TIMEOUT', 'The call was not sent in time'],
};

/**
 * Node.js answers by itself, and without a body, what it cannot read as HTTP or what is sent too slowly. Here that has the
 * shape of every other error, and comes after the answers to the calls before it.
 */
export function answerUnreadableCalls(server: Server, unfinished: UnfinishedAnswers, numericCode: boolean): void {
  const refused = new WeakSet<Duplex>();
  const refuse = (socket: Duplex, problem: Problem, headers = ''): void => {
    if (refused.has(socket)) return;
    refused.add(socket);
    const own = unfinished.toUnreadCall(socket);
    const end = () => {
      // What has its answer, or half of it, gets no second one.
      if (!socket.writable || own?.headersSent) socket.destroy();
      else socket.end(rawError(problem, numericCode, headers), () => socket.destroy());
    };
    const before = unfinished.of(socket).findLast(({ req, writableEnded }) => req.complete || writableEnded);
    if (before) before.once('close', end);
    else end();
  };
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (cause.code === 'ECONNRESET') return void socket.destroy();
    // What follows a call that is the last one by its own words is nothing.
    if (cause.code === 'HPE_CLOSED_CONNECTION') return;
    refuse(socket, problems[cause.code ?? ''] ?? ['MALFORMED_CALL', `The call is not valid HTTP: ${cause.message}`]);
  });
  server.on('checkExpectation', ({ headers }: IncomingMessage, answer: ServerResponse) => {
    const message = `'Expect: ${headers.expect}' cannot be met, only 100-continue`;
    const { status, headers: about, body } = errorAnswer(['EXPECTATION_FAILED', message], numericCode);
    answer.writeHead(status, about).end(body);
  });
  // Whether the body comes is up to the caller if the answer comes before it is asked for: nothing after it can be told from it.
  server.on('checkContinue', (call: IncomingMessage, answer: ServerResponse) => {
    answer.setHeader('Connection', 'close');
    server.emit('request', call, answer);
  });
  server.on('connect', (_request, socket) =>
    refuse(socket, ['METHOD_NOT_ALLOWED', 'This service is no proxy'], 'Allow: GET, HEAD, OPTIONS\r\n'),
  );
}

function errorAnswer([code, message]: Problem, numericCode: boolean) {
  const { status } = errorCodes[code];
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody({ status, code, message, errors: [] }, requestId, numericCode));
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  };
  return { status, headers, body };
}

function rawError(problem: Problem, numericCode: boolean, further: string): string {
  const { status, headers, body } = errorAnswer(problem, numericCode);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}${further}\r\n${body}`;
}

import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
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
 * shape of every other error.
 */
export function answerUnreadableCalls(server: Server, unfinished: UnfinishedAnswers, numericCode: boolean): void {
  const refuse = (socket: Duplex, [code, message]: Problem, headers = ''): void => {
    const answers = unfinished.of(socket);
    // Behind half of an answer it would be taken for the rest of that, and before the answers of other calls for one of them.
    const isOfAnother = answers.length > 1 || answers.some(({ headersSent }) => headersSent);
    if (!socket.writable || isOfAnother) return void socket.destroy();
    socket.end(rawError(code, message, numericCode, headers), () => socket.destroy());
  };
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (cause.code === 'ECONNRESET') return void socket.destroy();
    refuse(socket, problems[cause.code ?? ''] ?? ['MALFORMED_CALL', `The call is not valid HTTP: ${cause.message}`]);
  });
  server.on('checkExpectation', ({ socket, headers }: IncomingMessage) =>
    refuse(socket, ['EXPECTATION_FAILED', `'Expect: ${headers.expect}' cannot be met, only 100-continue`]),
  );
  server.on('connect', (_request, socket) =>
    refuse(socket, ['METHOD_NOT_ALLOWED', 'This service is no proxy'], 'Allow: GET, HEAD, OPTIONS\r\n'),
  );
}

function rawError(code: ErrorCode, message: string, numericCode: boolean, headers: string): string {
  const { status } = errorCodes[code];
  const requestId = randomUUID();
  const body = JSON.stringify(errorBody({ status, code, message, errors: [] }, requestId, numericCode));
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'X-Content-Type-Options: nosniff',
    `${headers}Connection: close\r\n\r\n${body}`,
  ].join('\r\n');
}

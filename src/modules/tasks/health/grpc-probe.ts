import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { failedWith, type ProbeResult, urlHost, withinLimit } from './probe-result.js';
import type { TimedQueue } from './timed-queue.js';

interface GrpcTarget {
  host: string;
  port: number;
  timeoutMillis: number;
}

/** A message of gRPC: not compressed, of no bytes. It asks for the health of the server as a whole. */
const emptyMessage = Buffer.alloc(5);
/** An answer has two bytes; what is longer is something else. */
const longestAnswer = 1_024;

/** HealthCheckResponse.ServingStatus of the health checking protocol. */
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

interface GrpcAnswer {
  httpStatus: number;
  /** Code of gRPC, and its text; absent: the answer broke off. */
  grpcStatus?: number;
  grpcMessage?: string;
  body: Buffer;
}

/**
 * Asks the health service of a gRPC server once (grpc.health.v1.Health/Check, over HTTP/2 without TLS). SERVING passes. Every
 * failure is a result, never an error.
 */
export const grpcProbe = (
  { host, port, timeoutMillis }: GrpcTarget,
  signal: AbortSignal,
  timers: TimedQueue,
): Promise<ProbeResult> =>
  withinLimit(timeoutMillis, signal, timers, async (ending) => {
    const session = connect(`http://${urlHost(host)}:${port}`);
    try {
      return judge(await ask(session, ending));
    } finally {
      session.destroy();
    }
  });

function ask(session: ClientHttp2Session, ending: AbortSignal): Promise<GrpcAnswer> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(ending.reason as Error);
    ending.addEventListener('abort', stop, { once: true });
    if (ending.aborted) return stop();
    // A session that is destroyed may still tell of an error.
    session.on('error', reject);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
      [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
      [constants.HTTP2_HEADER_TE]: 'trailers',
    });
    const answer: GrpcAnswer = { httpStatus: 0, body: Buffer.alloc(0) };
    const readStatus = (headers: Record<string, unknown>) => {
      if (headers['grpc-status'] === undefined) return;
      answer.grpcStatus = Number(headers['grpc-status']);
      answer.grpcMessage = headers['grpc-message'] as string | undefined;
    };
    stream.on('response', (headers) => {
      answer.httpStatus = Number(headers[constants.HTTP2_HEADER_STATUS]);
      readStatus(headers);
    });
    stream.on('trailers', readStatus);
    stream.on('data', (chunk: Buffer) => {
      answer.body = Buffer.concat([answer.body, chunk]);
      if (answer.body.length > longestAnswer) reject(new Error('The answer is none of the health service'));
    });
    // One that is cancelled tells why: the session could not connect.
    stream.on('error', (error) => reject(error.cause instanceof Error ? error.cause : error));
    stream.on('close', () =>
      answer.httpStatus === 0 ? reject(new Error('The connection broke off')) : resolve(answer),
    );
    stream.end(emptyMessage);
  });
}

function judge({ httpStatus, grpcStatus, grpcMessage, body }: GrpcAnswer): ProbeResult {
  const failed = (errorMessage: string): ProbeResult => ({ ...failedWith(errorMessage), reached: true });
  if (httpStatus !== 200) return failed(`HTTP status ${httpStatus} in place of an answer of gRPC`);
  if (grpcStatus !== 0) {
    const said = grpcMessage ? `: ${grpcMessage}` : '';
    return failed(grpcStatus === undefined ? 'An answer without a status of gRPC' : `gRPC status ${grpcStatus}${said}`);
  }
  const status = servingStatus(body);
  return status === 'SERVING'
    ? { statusCode: 200, responseBody: status, refused: false, reached: true }
    : failed(`The health service says ${status}`);
}

/** The first field of the message, a number, absent where it is 0: the status. */
function servingStatus(body: Buffer): string {
  const isPlain = body.length >= 5 && body[0] === 0;
  const message = isPlain ? body.subarray(5, 5 + body.readUInt32BE(1)) : undefined;
  if (!message || (message.length > 0 && message[0] !== 0x08)) return 'something else';
  return servingStatuses[message[1] ?? 0] ?? `status ${message[1]}`;
}

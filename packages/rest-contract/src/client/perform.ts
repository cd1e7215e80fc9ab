import type { ReadContext } from '../codec/codec.js';
import { Unreadable, TooLarge, WrongMediaType } from '../raw/failures.js';
import type { RestRequest, RestResponse, HandleRequest } from '../raw/message.js';
import type { CallOptions } from './types.js';
import type { AsyncWrapper, WrapperName } from '../async/wrappers.js';

/** A response came, but it is not what the contract says. */
export class UnreadableResponse extends Error {
  override readonly name = 'UnreadableResponse';
}

/** Makes the result of a call out of its response. Throws Unreadable, TooLarge or WrongMediaType where it is none. */
export interface ResponseReader {
  decode(response: RestResponse, context: ReadContext): unknown;
}

/** By what the calls of a client are sent and bounded. */
export interface CallBounds {
  readonly backend: HandleRequest;
  /** Longest wait unless a call says another; 0: no limit. */
  readonly timeoutMs: number;
  readonly read: ReadContext;
}

/**
 * Sends one request and reads its response, within its time and as long as no signal gives it up. For clients that are made of
 * something else than a contract. Throws UnreadableResponse where `result` cannot read the response.
 */
export function performCall(
  request: RestRequest,
  result: ResponseReader,
  shared: CallBounds,
  options?: CallOptions,
  cancel?: AbortSignal,
): Promise<unknown> {
  const timeoutMs = options?.timeoutMs ?? shared.timeoutMs;
  const signal = options?.signal;
  if (!signal && !cancel && timeoutMs <= 0) return exchange(request, result, shared);
  return bounded(request, result, shared, timeoutMs, [signal, cancel]);
}

async function exchange(request: RestRequest, result: ResponseReader, shared: CallBounds): Promise<unknown> {
  const response = await shared.backend(request);
  try {
    return await result.decode(response, shared.read);
  } catch (problem) {
    if (problem instanceof Unreadable || problem instanceof TooLarge || problem instanceof WrongMediaType) {
      const target = `${request.method} /${request.path.join('/')}`;
      throw new UnreadableResponse(`The response to ${target} ${sentence(problem)}`, { cause: problem });
    }
    throw problem;
  }
}

const sentence = ({ message }: Error) =>
  /^(?:is|must|ends|has) /.test(message) ? message : `is unreadable: ${message}`;

/** Performs a call under a time limit and abort signals. Rejects immediately, even when the backend does not listen. */
async function bounded(
  request: RestRequest,
  result: ResponseReader,
  shared: CallBounds,
  timeoutMs: number,
  outer: readonly (AbortSignal | undefined)[],
): Promise<unknown> {
  const controller = new AbortController();
  const signals = outer.filter((signal) => signal !== undefined);
  const stop = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) throw signal.reason;
    signal.addEventListener('abort', stop, { once: true });
  }
  const timer = timeoutMs > 0 ? setTimeout(() => controller.abort(timedOut(request, timeoutMs)), timeoutMs) : undefined;
  const gaveUp = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  let streaming = false;
  try {
    const value = await Promise.race([exchange({ ...request, signal: controller.signal }, result, shared), gaveUp]);
    streaming = isStreaming(value);
    return value;
  } finally {
    clearTimeout(timer);
    // A streamed result can still be given up; everything else is over, and a long-lived signal must not collect listeners.
    if (!streaming) for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}

function isStreaming(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Symbol.asyncIterator in value) return true;
  const { body, kind } = value as { body?: { kind?: unknown }; kind?: unknown };
  return kind === 'stream' || body?.kind === 'stream';
}

const timedOut = (request: RestRequest, timeoutMs: number) =>
  new DOMException(`${request.method} /${request.path.join('/')} took longer than ${timeoutMs} ms`, 'TimeoutError');

export interface SharedOptions extends CallBounds {
  readonly wrapper: AsyncWrapper<WrapperName> | undefined;
  readonly context: Record<string, unknown>;
}

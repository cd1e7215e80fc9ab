import type { RestResponse } from '../raw/message.js';

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Lets go of a stream that will not be read: a Node stream holds its file from the start, a generator from its first step. */
export function abandon(values: AsyncIterable<unknown>): void {
  if (!destroyed(values)) letGo(values[Symbol.asyncIterator]());
}

function destroyed(values: AsyncIterable<unknown>): boolean {
  const { destroy } = values as { destroy?: unknown };
  if (typeof destroy !== 'function') return false;
  destroy.call(values);
  return true;
}

function letGo(source: AsyncIterator<unknown>): void {
  void source.return?.().catch(() => undefined);
}

/**
 * A response that is there when its first chunk is: until then a failure of the source decides the status, like that of
 * any other operation. Later there is no status left to give; then it is reported, and reaches the reader as it is.
 */
export async function begun(
  response: RestResponse,
  signal: AbortSignal | undefined,
  report: (error: unknown) => void,
): Promise<RestResponse> {
  const { body } = response;
  if (body.kind !== 'stream') return response;
  const source = body.content[Symbol.asyncIterator]();
  const stop = () => void (destroyed(body.content) || letGo(source));
  const first = await (signal ? unlessGivenUp(source.next(), signal, stop) : source.next());
  const rest = continued(first, source, report);
  // One chunk is taken, so what would read the source as a whole would miss it.
  return { ...response, body: { ...body, content: { [Symbol.asyncIterator]: () => rest }, readAll: undefined } };
}

function unlessGivenUp<T>(first: Promise<T>, signal: AbortSignal, stop: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      stop();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    const settled = () => signal.removeEventListener('abort', giveUp);
    first.finally(settled).then(resolve, reject);
    if (signal.aborted) giveUp();
  });
}

function continued(
  first: IteratorResult<Uint8Array>,
  source: AsyncIterator<Uint8Array>,
  report: (error: unknown) => void,
): AsyncIterator<Uint8Array> {
  let kept: IteratorResult<Uint8Array> | undefined = first;
  return {
    async next() {
      if (kept) {
        const chunk = kept;
        if (!chunk.done) kept = undefined;
        return chunk;
      }
      try {
        return await source.next();
      } catch (error) {
        report(error);
        throw error;
      }
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}

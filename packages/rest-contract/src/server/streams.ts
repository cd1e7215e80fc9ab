import type { RestResponse } from '../raw/message.js';

export const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Lets go of a stream nobody will read: a Node stream holds its file from the start, a generator from its first step. */
export function abandon(values: AsyncIterable<unknown>): void {
  const { destroy } = values as { destroy?: unknown };
  if (typeof destroy === 'function') destroy.call(values);
  else
    void values[Symbol.asyncIterator]()
      .return?.()
      .catch(() => undefined);
}

/** A streamed response whose failure is reported here and told to the caller without its reason. */
export function guardStream(response: RestResponse, onError: (error: unknown) => void): RestResponse {
  const { body } = response;
  if (body.kind !== 'stream') return response;
  const content: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => guarded(body.content, onError),
  };
  return { ...response, body: { ...body, content } };
}

function guarded(content: AsyncIterable<Uint8Array>, onError: (error: unknown) => void): AsyncIterator<Uint8Array> {
  const source = content[Symbol.asyncIterator]();
  let started = false;
  return {
    async next() {
      started = true;
      try {
        return await source.next();
      } catch (error) {
        onError(error);
        throw new Error('The response broke off');
      }
    },
    async return() {
      if (started) await source.return?.();
      else abandon(content);
      return { done: true, value: undefined };
    },
  };
}

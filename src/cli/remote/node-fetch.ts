import type { FetchAnswer } from 'rest-contract/fetch';
import { Agent, request as plainRequest, type IncomingMessage } from 'node:http';

const agent = new Agent({ keepAlive: true });

/**
 * As much of fetch as the client asks for, over node:http: to load the platform's own takes longer than all else that a command
 * does.
 */
export async function nodeFetch(
  target: string,
  { method, headers, signal, body }: RequestInit = {},
): Promise<FetchAnswer> {
  const url = new URL(target);
  const request = url.protocol === 'https:' ? (await import('node:https')).request : plainRequest;
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(
      url,
      {
        method,
        headers: {
          ...Object.fromEntries(headers as [string, string][]),
          // Node says it by itself for few methods only.
          ...(typeof body === 'string' && { 'content-length': Buffer.byteLength(body) }),
        },
        ...(signal && { signal }),
        ...(url.protocol === 'http:' && { agent }),
      },
      resolve,
    );
    // As fetch tells it: what it was stands in the cause.
    sent.once('error', (cause) => reject(signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause })));
    sent.end(body as string | Uint8Array | undefined);
  });
  return {
    status: answer.statusCode!,
    headers: {
      get: (name: string) => answer.headers[name]?.toString() ?? null,
      has: (name: string) => name in answer.headers,
      forEach: (tell: (value: string, name: string) => void) => {
        for (const [name, value] of Object.entries(answer.headers)) tell(String(value), name);
      },
    },
    body: { getReader: () => readerOf(answer, signal) },
    arrayBuffer: async () => {
      const reader = readerOf(answer, signal);
      const pieces: Uint8Array[] = [];
      for (let step = await reader.read(); !step.done; step = await reader.read()) pieces.push(step.value!);
      return Buffer.concat(pieces);
    },
  };
}

function readerOf(answer: IncomingMessage, signal: AbortSignal | null | undefined) {
  const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return {
    read: async () => {
      try {
        const { done, value } = await pieces.next();
        return { done: done ?? false, value };
      } catch (cause) {
        throw signal?.aborted ? signal.reason : new TypeError('terminated', { cause });
      }
    },
    cancel: async () => void answer.destroy(),
  };
}

import { Agent, H2CClient, request, type Dispatcher } from 'undici';
import type { HealthcheckMethod, HealthcheckProtocol } from '../../../core/model/enums.js';

export interface ProbeTarget {
  host: string;
  port: number;
  /** Path and query; one leading slash is added when there is none. */
  uri: string;
  protocol: HealthcheckProtocol;
  method: HealthcheckMethod;
  /** For the whole check: connecting, redirects, reading. */
  timeoutMillis: number;
  maxBodyBytes: number;
}

export interface ProbeResult {
  statusCode?: number;
  /** First bytes of the answer; absent when it was empty. */
  responseBody?: string;
  errorMessage?: string;
  /** Nobody listens on the port (yet). */
  refused: boolean;
}

const maxRedirects = 5;
/** What is asked is whether the task answers. Its certificate is for its clients, and names some other host than ours. */
const anyCertificate = { rejectUnauthorized: false };

/** Asks once. Every failure is a result, never an error. */
export async function probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  // Not AbortSignal.any with AbortSignal.timeout: Node 20 may collect those as garbage before they fire.
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, target.timeoutMillis);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const scheme = target.protocol.startsWith('HTTPS') ? 'https' : 'http';
  try {
    let url = new URL(`${scheme}://${target.host}:${target.port}${withSlash(target.uri)}`);
    let { method } = target;
    for (let redirects = 0; ; redirects++) {
      const answer = await ask(url, method, target, ending.signal);
      if (!answer.location) return { ...answer.result, refused: false };
      if (redirects === maxRedirects) return failure(`More than ${maxRedirects} redirects`);
      url = new URL(answer.location, url);
      if (answer.result.statusCode! <= 303) method = 'GET';
    }
  } catch (cause) {
    if (ending.signal.aborted && !signal.aborted) return failure(`No answer within ${target.timeoutMillis} ms`);
    return { errorMessage: messageOf(cause), refused: isRefused(cause) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

interface Asked {
  result: { statusCode: number; responseBody?: string };
  location?: string;
}

async function ask(url: URL, method: HealthcheckMethod, target: ProbeTarget, signal: AbortSignal): Promise<Asked> {
  const dispatcher = dispatcherFor(url, target.protocol);
  try {
    // headersTimeout and bodyTimeout off: the signal limits the whole check.
    const { statusCode, headers, body } = await request(url, {
      method,
      dispatcher,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const responseBody = await readStart(body, target.maxBodyBytes);
    const location = isRedirect(statusCode) ? headers.location : undefined;
    return { result: { statusCode, responseBody }, location: Array.isArray(location) ? location[0] : location };
  } finally {
    // Not awaited: what is left of an endless answer must not hold up the result.
    void dispatcher.destroy();
  }
}

/** A connection of its own for each check: a reused one would not tell whether new clients can connect. */
function dispatcherFor(url: URL, protocol: HealthcheckProtocol): Dispatcher {
  const isHttp2 = protocol.endsWith('2');
  if (isHttp2 && url.protocol === 'http:') return new H2CClient(url.origin);
  return new Agent({ allowH2: isHttp2, connect: anyCertificate });
}

async function readStart(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, maxBytes - length));
    length += chunk.length;
    if (length >= maxBytes) break;
  }
  // A character cut in two at the end is left out; NUL is the one character the database cannot store.
  const text = new TextDecoder().decode(Buffer.concat(chunks), { stream: true }).replaceAll('\0', '\uFFFD');
  return text === '' ? undefined : text;
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);
const withSlash = (uri: string): string => (uri.startsWith('/') ? uri : `/${uri}`);
const failure = (errorMessage: string): ProbeResult => ({ errorMessage, refused: false });

/** A name with several addresses fails with one error for each of them. */
const causesOf = (cause: unknown): { code?: string; message?: string }[] => {
  const { errors, ...own } = cause as { errors?: { code?: string }[]; code?: string; message?: string };
  return [{ code: own.code, message: (cause as Error).message }, ...(errors ?? [])];
};
const isRefused = (cause: unknown): boolean => causesOf(cause).some(({ code }) => code === 'ECONNREFUSED');
const messageOf = (cause: unknown): string =>
  causesOf(cause)
    .map(({ message, code }) => message || code)
    .find(Boolean) ?? String(cause);

import { Client, H2CClient, request, type Dispatcher } from 'undici';
import { withSlash } from '../../../core/files/paths.js';
import type { HealthcheckMethod, HealthcheckProtocol } from '../../../core/model/enums.js';
import { type ProbeResult, urlHost, withinLimit } from './probe-result.js';
import type { TimedQueue } from './timed-queue.js';

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

const maxRedirects = 5;

/** Asks once. Every failure is a result, never an error. `timers`: who keeps the time limit. */
export const probe = (target: ProbeTarget, signal: AbortSignal, timers: TimedQueue): Promise<ProbeResult> =>
  withinLimit(target.timeoutMillis, signal, timers, async (ending) => ({
    ...(await askFollowing(target, ending)),
    refused: false,
  }));

async function askFollowing(
  target: ProbeTarget,
  ending: AbortSignal,
): Promise<{ statusCode: number; responseBody?: string }> {
  const scheme = target.protocol.startsWith('HTTPS') ? 'https' : 'http';
  let url = new URL(`${scheme}://${urlHost(target.host)}:${target.port}${withSlash(target.uri)}`);
  let { method } = target;
  for (let redirects = 0; ; redirects++) {
    const { result, location } = await ask(url, method, target, ending);
    if (!location) return result;
    if (redirects === maxRedirects) throw new Error(`More than ${maxRedirects} redirects`);
    url = sameTarget(url, location);
    if (result.statusCode <= 303) method = 'GET';
  }
}

/** Elsewhere than at the host and port that were to be asked nothing is asked: a task cannot say what the scheduler is to ask. */
function sameTarget(url: URL, location: string): URL {
  const to = new URL(location, url);
  const isSame = portOf(to) === portOf(url) && (to.hostname === url.hostname || (isHere(to) && isHere(url)));
  if (!isSame || to.username || to.password)
    throw new Error(`A redirect to ${to.protocol}//${to.host} is not followed`);
  return to;
}

/** undefined: not HTTP. */
const portOf = ({ protocol, port }: URL): string | undefined => port || { 'http:': '80', 'https:': '443' }[protocol];
const isHere = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname);

interface ProbeResponse {
  result: { statusCode: number; responseBody?: string };
  location?: string;
}

async function ask(
  url: URL,
  method: HealthcheckMethod,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeResponse> {
  const dispatcher = dispatcherFor(url, target.protocol, signal);
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
function dispatcherFor(url: URL, protocol: HealthcheckProtocol, signal: AbortSignal): Dispatcher {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new Error(`A redirect to ${url.protocol} is not followed`);
  const isHttp2 = protocol.endsWith('2');
  // What is asked is whether the task answers. Its certificate is for its clients, and names some other host than ours.
  // timeout 0: the signal limits connecting too, and destroys the socket of a connection that is not made yet.
  const connect = { rejectUnauthorized: false, timeout: 0, signal };
  if (isHttp2 && url.protocol === 'http:') return new H2CClient(url.origin, { connect });
  return new Client(url.origin, { allowH2: isHttp2, connect });
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
  return text === '' ? undefined : firstBytes(text, maxBytes);
}

/** Cuts the text to so many bytes: a byte that is not text becomes a replacement character of three bytes. */
function firstBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}

const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

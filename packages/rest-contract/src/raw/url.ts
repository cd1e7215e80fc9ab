import type { Entry, RestRequest } from './message.js';
import { Unreadable } from './failures.js';

// URL encoding happens here and nowhere else: the edge towards a real network.

/** `['a b', 'c/d']` -> `/a%20b/c%2Fd` */
function encodePath(segments: readonly string[]): string {
  if (segments.length === 1 && segments[0] === '') throw new TypeError('A path of one empty value cannot be sent');
  let path = '';
  for (const segment of segments) {
    // URL parsers fold these away even percent-encoded, and the request would reach another operation.
    if (segment === '.' || segment === '..')
      throw new TypeError(`A path value of '${segment}' cannot be sent in a URL`);
    path += `/${encodeURIComponent(segment)}`;
  }
  return path === '' ? '/' : path;
}

export function decodePath(path: string): string[] {
  const rest = path.startsWith('/') ? path.slice(1) : path;
  if (rest === '') return [];
  const segments = rest.split('/');
  return rest.includes('%') ? segments.map((segment) => decode(segment, 'path')) : segments;
}

function encodeQuery(entries: readonly Entry[]): string {
  let text = '';
  for (const [name, value] of entries) {
    text += `${text === '' ? '' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  }
  return text;
}

/** Reads a query or an urlencoded form: in both, `+` is a space. */
export function decodeQuery(text: string, what: 'query' | 'form' = 'query'): Entry[] {
  const entries: Entry[] = [];
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const split = pair.indexOf('=');
    const name = split < 0 ? pair : pair.slice(0, split);
    const value = split < 0 ? '' : pair.slice(split + 1);
    entries.push([decodePlus(name, what), decodePlus(value, what)]);
  }
  return entries;
}

export const encodeForm = (entries: readonly Entry[]): string => encodeQuery(entries).replaceAll('%20', '+');

/** Path and query as they stand in a request line. */
export function requestTarget(request: Pick<RestRequest, 'path' | 'query'>): string {
  const path = encodePath(request.path);
  return request.query.length === 0 ? path : `${path}?${encodeQuery(request.query)}`;
}

/** Splits what `requestTarget` joined; `Unreadable` when it is not valid percent-encoding. */
export function parseTarget(target: string): Pick<RestRequest, 'path' | 'query'> {
  const split = target.indexOf('?');
  return split < 0
    ? { path: decodePath(target), query: [] }
    : { path: decodePath(target.slice(0, split)), query: decodeQuery(target.slice(split + 1)) };
}

const decodePlus = (text: string, what: string) => decode(text.includes('+') ? text.replaceAll('+', ' ') : text, what);

function decode(text: string, what: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Unreadable(`The ${what} of the request is not valid percent-encoding`);
  }
}

export const encodeCookies = (entries: readonly Entry[]): string =>
  entries.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('; ');

/** Foreign cookies are none of our business: one that is not valid percent-encoding is taken as it stands. */
export function decodeCookies(header: string): Entry[] {
  const entries: Entry[] = [];
  for (const pair of header.split(';')) {
    const split = pair.indexOf('=');
    if (split <= 0) continue;
    entries.push([lenient(pair.slice(0, split).trim()), lenient(unquoted(pair.slice(split + 1).trim()))]);
  }
  return entries;
}

const unquoted = (text: string) =>
  text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;

function lenient(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

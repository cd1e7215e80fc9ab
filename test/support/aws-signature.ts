import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** "20260105T120000Z" in epoch milliseconds. */
const readTime = (text: string): number =>
  Date.parse(text.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/**
 * Whether a call carries a signature of version 4, in its headers or its query, that the secret key makes and that has not
 * expired. Written from the description of the signature, not from the client that makes it.
 */
export function isSigned(request: IncomingMessage, secretKey: string): boolean {
  const [path = '', rawQuery = ''] = request.url!.split('?');
  const query = rawQuery
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=').map(decodeURIComponent))
    .map(([name = '', value = '']) => [name, value] as const);
  const parameter = (name: string): string => query.find((pair) => pair[0] === name)?.[1] ?? '';
  const header = (name: string): string => String(request.headers[name] ?? '');

  const authorization = /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(header('authorization'));
  const inQuery = authorization === null;
  const credential = inQuery ? parameter('X-Amz-Credential') : authorization[1]!;
  const signedHeaders = inQuery ? parameter('X-Amz-SignedHeaders') : authorization[2]!;
  const signature = inQuery ? parameter('X-Amz-Signature') : authorization[3]!;
  const time = inQuery ? parameter('X-Amz-Date') : header('x-amz-date');
  if (credential === '' || signature === '') return false;
  if (inQuery && Date.now() > readTime(time) + Number(parameter('X-Amz-Expires')) * 1_000) return false;

  const canonicalQuery = query
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const canonicalHeaders = signedHeaders.split(';').map((name) => `${name}:${header(name).trim()}\n`);
  const canonicalRequest = [
    request.method!,
    path.split('/').map(decodeURIComponent).map(encode).join('/'),
    canonicalQuery,
    canonicalHeaders.join(''),
    signedHeaders,
    inQuery ? 'UNSIGNED-PAYLOAD' : header('x-amz-content-sha256'),
  ].join('\n');
  const [, ...scope] = credential.split('/');
  const key = scope.reduce<string | Buffer>((parent, part) => hmac(parent, part), `AWS4${secretKey}`);
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), hash(canonicalRequest)].join('\n');
  return hmac(key, text).toString('hex') === signature;
}

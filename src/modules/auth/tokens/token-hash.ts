import { createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);
const saltBytes = 16;
const hashBytes = 64;

/** `iterations:salt:hash`, the latter two in hexadecimal: PBKDF2 with HMAC-SHA1. */
export async function hashToken(token: string, iterations: number): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(token, salt, iterations, hashBytes, 'sha1');
  return `${iterations}:${salt.toString('hex')}:${hash.toString('hex')}`;
}

/** Takes the same time wherever the two differ. */
export async function matchesHash(token: string, stored: string): Promise<boolean> {
  const match = /^(\d{1,9}):([0-9a-f]{2,}):([0-9a-f]{2,})$/i.exec(stored);
  if (!match) return false;
  const [, iterations, salt, hash] = match as unknown as [string, string, string, string];
  const expected = Buffer.from(hash, 'hex');
  const actual = await derive(token, Buffer.from(salt, 'hex'), Number(iterations), expected.length, 'sha1');
  return timingSafeEqual(actual, expected);
}

/** Finds the one row that can hold a token's hash; without the key it says nothing about the token. */
export const lookupDigest = (token: string, key: string): string =>
  createHmac('sha256', key).update(token).digest('hex');

import { createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const idBytes = 8;
const secretBytes = 32;

/** 256 random bits behind a word that scanners for leaked secrets can look for, and the id by which it is revoked. */
export function newTokenText(): { id: string; text: string } {
  const id = randomBytes(idBytes).toString('hex');
  return { id, text: `muster_${id}_${randomBytes(secretBytes).toString('base64url')}` };
}

const madeHere = /^muster_[0-9a-f]{16}_[\w-]{43}$/;
const madeByOlderVersions = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** True if it has a form in which tokens were made, and not one that a user may have chosen. */
export const isUnguessable = (text: string): boolean => madeHere.test(text) || madeByOlderVersions.test(text);

/** 128 bits take 22 characters of 64 kinds. What is shorter, or longer than any token, is none. */
export const couldBeToken = (text: string): boolean => text.length >= 22 && text.length <= 512;

/** Finds the one row of a token; without the key it says nothing about the token. */
export const lookupDigest = (token: string, key: string): string =>
  createHmac('sha256', key).update(token).digest('hex');

const derive = promisify(pbkdf2);

/**
 * True if the token is that of `iterations:salt:hash`, the latter two in hexadecimal: PBKDF2 with HMAC-SHA1, which an
 * older version kept of tokens. Takes as long wherever the two differ.
 */
export async function matchesHash(token: string, stored: string): Promise<boolean> {
  const match = /^(\d{1,9}):([0-9a-f]{2,}):([0-9a-f]{2,})$/i.exec(stored);
  if (!match) return false;
  const [, iterations, salt, hash] = match as unknown as [string, string, string, string];
  const expected = Buffer.from(hash, 'hex');
  const actual = await derive(token, Buffer.from(salt, 'hex'), Number(iterations), expected.length, 'sha1');
  return timingSafeEqual(actual, expected);
}

import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';

/** The secret of an installation; shorter ones can be guessed. */
export const leastSecretLength = 32;

/**
 * The secrets of an installation, from a file that `field` of the settings names: the one to use, and perhaps a second one that agents
 * accept while the first one is replaced.
 */
export function readSecrets(path: string, field: string): [string, ...string[]] {
  const [first = '', ...others] = readFileSync(path, 'utf8')
    .trim()
    .split(/\s*\n\s*/);
  if ([first, ...others].some((secret) => secret.length < leastSecretLength))
    throw new Error(`${field}: ${path} must hold at least ${leastSecretLength} characters`);
  if (others.length > 1) throw new Error(`${field}: ${path} must hold one secret, or two lines with one each`);
  return [first, ...others];
}

/** Keys that the scheduler and the agent of one node share. Those of one node open no other. */
interface NodeKeys {
  /** Key of the connection: a side without it gets none. */
  psk: Buffer;
  /** Secret of each call. */
  secret: string;
  /** Tells the keys of a node apart, and does not give them away. */
  id: string;
}

export function keysOf(node: string, secret: string): NodeKeys {
  if (secret.length < leastSecretLength)
    throw new Error(`The secret of pod agents must have ${leastSecretLength} characters`);
  const derived = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', `muster pod agent\0${use}\0${node}`, 32));
  const id = derived('id').toString('hex').slice(0, 16);
  return { psk: derived('connection'), secret: derived('call').toString('base64url'), id };
}

/** A key of its own for each connection, so that what was recorded stays closed when the shared one is known; no certificates. */
const protocol = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
} as const;

/** Of callers and agents that do not name their key: it is the first one. */
const unnamed = 'muster';
/** Word of an agent that it knows keys by their ids. */
const namesKeys = 'muster key ids';
const named = (id: string): string => `${unnamed} ${id}`;

export const serverTls = (keys: readonly Pick<NodeKeys, 'psk' | 'id'>[]) => ({
  ...protocol,
  pskIdentityHint: namesKeys,
  pskCallback: (_socket: TLSSocket, given: string) =>
    (given === unnamed ? keys[0] : keys.find(({ id }) => given === named(id)))?.psk ?? null,
});

/** The key is what says who the other is. */
export const clientTls = ({ psk, id }: Pick<NodeKeys, 'psk' | 'id'>) => ({
  ...protocol,
  pskCallback: (hint: string | null) => ({ psk, identity: hint === namesKeys ? named(id) : unnamed }),
  checkServerIdentity: () => undefined,
});

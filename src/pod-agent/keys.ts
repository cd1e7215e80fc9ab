import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';

/** The secret of an installation; shorter ones can be guessed. */
export const leastSecretLength = 32;

/** The secret of an installation, from a file that `field` of the settings names. */
export function readSecret(path: string, field: string): string {
  const secret = readFileSync(path, 'utf8').trim();
  if (secret.length < leastSecretLength)
    throw new Error(`${field}: ${path} must hold at least ${leastSecretLength} characters`);
  return secret;
}

/** Keys that the scheduler and the agent of one node share. Those of one node open no other. */
interface NodeKeys {
  /** Key of the connection: a side without it gets none. */
  psk: Buffer;
  /** Secret of each call. */
  secret: string;
}

export function keysOf(node: string, secret: string): NodeKeys {
  if (secret.length < leastSecretLength)
    throw new Error(`The secret of pod agents must have ${leastSecretLength} characters`);
  const derived = (use: string) => Buffer.from(hkdfSync('sha256', secret, '', `muster pod agent\0${use}\0${node}`, 32));
  return { psk: derived('connection'), secret: derived('call').toString('base64url') };
}

/** A key of its own for each connection, so that what was recorded stays closed when the shared one is known; no certificates. */
const protocol = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
} as const;

/** No name that a node could have. */
const identity = 'muster';

export const serverTls = ({ psk }: Pick<NodeKeys, 'psk'>) => ({
  ...protocol,
  pskCallback: (_socket: TLSSocket, given: string) => (given === identity ? psk : null),
});

/** The key is what says who the other is. */
export const clientTls = ({ psk }: Pick<NodeKeys, 'psk'>) => ({
  ...protocol,
  pskCallback: () => ({ psk, identity }),
  checkServerIdentity: () => undefined,
});

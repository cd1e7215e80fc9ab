import { uncompress } from 'snappyjs';

export const payloadKinds = ['TASK', 'REQUEST', 'DEPLOY'] as const;
/** Kinds of history in the payloads of an older installation. */
export type PayloadKind = (typeof payloadKinds)[number];

export type Payload = { kind: 'read'; document: Record<string, unknown> } | { kind: 'unreadable'; reason: string };

/** A payload says how long it becomes. No record comes near this; a broken one may claim gigabytes. */
const maxBytes = 64 * 2 ** 20;

/** Without this member a document is of another kind, whatever else it holds. */
const memberOf: Readonly<Record<PayloadKind, string>> = { TASK: 'task', REQUEST: 'id', DEPLOY: 'deployMarker' };

/** Reads a payload as older installations wrote it: JSON text, or the same compressed with Snappy. */
export function decodePayload(kind: PayloadKind, bytes: Uint8Array): Payload {
  if (bytes.length === 0) return { kind: 'unreadable', reason: 'It is empty' };
  // A compressed payload may begin with any byte, '{' included, so only reading it tells what it is.
  const document = parse(bytes) ?? parse(plainOf(bytes));
  if (document === undefined) return { kind: 'unreadable', reason: 'It is neither JSON nor compressed JSON' };
  const member = memberOf[kind];
  if (document[member] == null) return { kind: 'unreadable', reason: `It has no member '${member}'` };
  return { kind: 'read', document };
}

function plainOf(bytes: Uint8Array): Uint8Array | undefined {
  try {
    return uncompress(bytes, maxBytes);
  } catch {
    return undefined;
  }
}

function parse(bytes: Uint8Array | undefined): Record<string, unknown> | undefined {
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

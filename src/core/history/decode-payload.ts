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
    return areLiteralsSound(bytes) ? uncompress(bytes, maxBytes) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * False where a literal says that it is longer than what is left. snappyjs takes a length of two gigabytes or more for a negative one,
 * goes back by it, and may never come to an end. Format: github.com/google/snappy, format_description.txt.
 */
function areLiteralsSound(bytes: Uint8Array): boolean {
  let at = bytes.findIndex((byte) => byte < 0x80) + 1;
  while (at < bytes.length) {
    const tag = bytes[at]!;
    const [kind, rest] = [tag & 3, tag >>> 2];
    at += 1;
    if (kind !== 0) at += kind === 3 ? 4 : kind;
    else if (rest < 60) at += rest + 1;
    else {
      const size = rest - 59;
      if (at + size > bytes.length) return false;
      let length = 1;
      for (let index = 0; index < size; index++) length += bytes[at + index]! * 2 ** (8 * index);
      at += size + length;
    }
  }
  return at === bytes.length;
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

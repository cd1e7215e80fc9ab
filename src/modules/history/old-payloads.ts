import { decodePayload, type Payload, type PayloadKind } from '../../core/history/index.js';
import { BodyProblem, normalizeBody } from '../../platform/http/bodies.js';
import type { Settings } from '../../platform/settings/settings.js';

/** A payload of an older installation in the form in which ours are stored: with our names, and every text storable. */
export function readPayload(kind: PayloadKind, bytes: Uint8Array): Payload {
  const payload = decodePayload(kind, bytes);
  if (payload.kind === 'unreadable') return payload;
  try {
    return { kind: 'read', document: normalizeBody(payload.document, true) as Record<string, unknown> };
  } catch (cause) {
    if (!(cause instanceof BodyProblem)) throw cause;
    return { kind: 'unreadable', reason: cause.message };
  }
}

/**
 * Lets rows of an older installation be read before the backfill has been there. undefined: there is no payload, it cannot
 * be read, or operators do not want it. Document: what the kind stands for.
 */
export function oldDocument<Document>(
  { sqlFallBackToBytesFields }: Settings,
  kind: PayloadKind,
  bytes: Uint8Array | null,
): Document | undefined {
  if (bytes === null || !sqlFallBackToBytesFields) return undefined;
  const payload = readPayload(kind, bytes);
  return payload.kind === 'read' ? (payload.document as Document) : undefined;
}

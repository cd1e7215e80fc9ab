import type { RequestState, RequestType } from '../../../../src/core/model/enums.js';

/** A request that was imported, or refused, before. */
export interface KnownItem {
  outcome: 'TAKEN' | 'REFUSED';
  /** Fingerprint of the original's record then. */
  fingerprint: string;
  /** Version of the request's row, as it was written then. */
  version?: number;
  /** Paused here only because the original runs it. */
  held: boolean;
  handedOver: boolean;
}

/** LEAVE: it stays as it is here. Its history is copied with all others, unless it is not the same request at all. */
export type TakeDecision =
  { kind: 'TAKE' } | { kind: 'UNCHANGED' } | { kind: 'LEAVE'; why: string; copiesHistory: boolean };

/** Decides about a request of the original at this run: only a request that was not changed here is overwritten. */
export function decideTake(
  theirs: { state: string; fingerprint: string },
  ours: { version: number } | undefined,
  known: KnownItem | undefined,
): TakeDecision {
  if (theirs.state === 'DELETING') return leave('it is being deleted there', false);
  const taken = known?.outcome === 'TAKEN' ? known : undefined;
  if (!taken)
    return ours ? leave('a request of this id is here that did not come from there', false) : { kind: 'TAKE' };
  if (!ours) return leave('it was deleted here', false);
  if (taken.handedOver) return leave('it has been handed over', true);
  if (ours.version !== taken.version) return leave('it was changed here since it was taken', true);
  return taken.fingerprint === theirs.fingerprint ? { kind: 'UNCHANGED' } : { kind: 'TAKE' };
}

const leave = (why: string, copiesHistory: boolean): TakeDecision => ({ kind: 'LEAVE', why, copiesHistory });

/**
 * As what a request stands here, so that nothing runs twice while the original runs it: paused and held, until it is handed
 * over. A run-once request has its run there, so here it only stands; paused and finished ones start nothing anyway. One that
 * is held stays so when the original pauses it, which is the first step of handing it over.
 */
export function stateHere(
  theirs: { state: string; requestType: RequestType },
  wasHeld: boolean,
): { state: RequestState; held: boolean } {
  if (theirs.state === 'FINISHED') return { state: 'FINISHED', held: false };
  if (theirs.state === 'PAUSED') return { state: 'PAUSED', held: wasHeld };
  if (theirs.requestType === 'RUN_ONCE') return { state: 'ACTIVE', held: false };
  return { state: 'PAUSED', held: true };
}

/** True when a request id matches a pattern in which `*` stands for any characters and `?` for one. */
export function matches(pattern: string, requestId: string): boolean {
  const wild: Readonly<Record<string, string>> = { '*': '.*', '?': '.' };
  const source = pattern.replaceAll(/[.*+?^${}()|[\]\\]/g, (character) => wild[character] ?? `\\${character}`);
  return new RegExp(`^${source}$`).test(requestId);
}

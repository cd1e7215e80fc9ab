import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from './transaction.js';

/** Permission of a call, given before its operation began, by the state of then. */
export interface Permit {
  /** Ids of the requests whose rows it locks. */
  readonly requestIds: readonly string[];
  /** Locks what the decision stands on and decides again where it has changed. Fails when it no longer holds. */
  hold(tx: Transaction): Promise<void>;
}

/** Runs last in a transaction of a call. Fails when it must not be committed. */
type Ending = (tx: Transaction) => Promise<void>;

/** The work at the beginning and at the end of each transaction of a call. */
export interface Brackets {
  permit?: Permit;
  ending?: Ending;
}
const calls = new AsyncLocalStorage<Brackets | undefined>();

/** Everything that `work` begins belongs to one call. */
export const asCall = <T>(work: () => T): T => calls.run({}, work);

/**
 * Runs work that a call sets off, such as a pass of a poller that it wakes: it is not the call's own act and needs no
 * permit of its caller.
 */
export const outsideOfCalls = <T>(work: () => T): T => calls.run(undefined, work);

/** From now on each transaction of this call begins by holding the permit. */
export function grant(permit: Permit): void {
  presentCall().permit = permit;
}

/** From now on each transaction of this call ends with this. */
export function beforeEachCommit(ending: Ending): void {
  presentCall().ending = ending;
}

function presentCall(): Brackets {
  const call = calls.getStore();
  if (!call) throw new Error('There is no call whose transactions this could be about');
  return call;
}

/** The brackets of the present call. */
export const bracketsOfCall = (): Readonly<Brackets> => calls.getStore() ?? {};

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from './transaction.js';

/** What a call was allowed before its operation began, by what was known then. */
export interface Permit {
  /** Whose rows it locks. */
  readonly requestIds: readonly string[];
  /** Locks what the decision stands on and decides again where it has changed. Fails when it no longer holds. */
  hold(tx: Transaction): Promise<void>;
}

/** What a transaction of a call does last. Fails when it must not be committed. */
type Ending = (tx: Transaction) => Promise<void>;

/** What the transactions of a call begin and end with. */
export interface Brackets {
  permit?: Permit;
  ending?: Ending;
}
const calls = new AsyncLocalStorage<Brackets | undefined>();

/** Everything that `work` begins belongs to one call. */
export const asCall = <T>(work: () => T): T => calls.run({}, work);

/** What a call sets off, such as a pass of a poller that it wakes, is not its own act and needs no permit of its caller. */
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

/** Of the present call. */
export const bracketsOfCall = (): Readonly<Brackets> => calls.getStore() ?? {};

import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from 'typeorm';

/** What a call was allowed before its operation began, by what was known then. */
export interface Permit {
  /** Locks what the decision stands on and decides again where it has changed. Fails when it no longer holds. */
  hold(tx: EntityManager): Promise<void>;
}

interface Call {
  permit?: Permit;
}
const calls = new AsyncLocalStorage<Call | undefined>();

/** Everything that `work` begins belongs to one call. */
export const asCall = <T>(work: () => T): T => calls.run({}, work);

/** What a call sets off, such as a pass of a poller that it wakes, is not its own act and needs no permit of its caller. */
export const outsideOfCalls = <T>(work: () => T): T => calls.run(undefined, work);

/** From now on each transaction of this call begins by holding the permit. */
export function grant(permit: Permit): void {
  const call = calls.getStore();
  if (!call) throw new Error('A permit was granted outside of a call');
  call.permit = permit;
}

export const permitOfCall = (): Permit | undefined => calls.getStore()?.permit;

import { isRunnable, type RequestState, type RequestType } from '../model/enums.js';

export interface ReleaseFacts {
  requestType: RequestType;
  state: RequestState;
  activeDeployId?: string;
  /** Runs that wait in its queue or for a machine, and runs that are active. */
  waiting: number;
  active: number;
  /** The most runs that may wait. */
  mostWaiting: number;
}

/** For how many runs of flows there is room in the queue of a request. The others wait: none is lost, however long that is. */
export function releasable({ requestType, state, activeDeployId, ...facts }: ReleaseFacts): number {
  if (!isRunnable(state) || activeDeployId === undefined) return 0;
  const { waiting, active, mostWaiting } = facts;
  // A second run of a schedule at a time would stand for the first one.
  if (requestType === 'SCHEDULED') return waiting + active === 0 ? 1 : 0;
  return Math.max(0, mostWaiting - waiting);
}

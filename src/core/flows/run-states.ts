import { isTerminal, type TaskState } from '../model/enums.js';

/** States of a run of a flow. */
export const flowRunStates = ['WAITING', 'ACTIVE', 'SUCCESS', 'FAILURE', 'DROPPED'] as const;
export type FlowRunState = (typeof flowRunStates)[number];

/** `state`: of its last task. A run that ended without one was taken back, or its request is gone. */
export function flowRunState(run: { queuedAt?: number; endedAt?: number; state?: TaskState }): FlowRunState {
  if (run.endedAt === undefined) return run.queuedAt === undefined ? 'WAITING' : 'ACTIVE';
  if (run.state === undefined || !isTerminal(run.state)) return 'DROPPED';
  return run.state === 'TASK_FINISHED' ? 'SUCCESS' : 'FAILURE';
}

import { isTerminal, type TaskState } from '../model/enums.js';
import type { PerhapsRunning } from '../model/strategy.js';
import { type KnownTask, type ReportedStatus, statusChange } from './status-change.js';

/** An end that was concluded while its machine was away; it may come back with the task. */
export const isGivenUp = ({ state, reason }: { state: TaskState; reason?: string }): boolean =>
  state === 'TASK_UNREACHABLE' || (state === 'TASK_LOST' && reason === 'REASON_AGENT_REMOVED');

/** True if it may run after the report. What the machine itself reports is certain, also where the end recorded stays another one. */
export function mayRunAfter(task: KnownTask & PerhapsRunning, reported: ReportedStatus & { reason?: string }): boolean {
  const change = statusChange(task, reported);
  if (change.kind === 'record') return change.ends && reported.incarnation === undefined && isGivenUp(reported);
  if (reported.incarnation !== task.incarnation || !task.ended) return task.mayRun;
  if (isTerminal(reported.state) || task.isOfFormerLife) return false;
  return change.kind === 'recover' || task.mayRun;
}

/** True if the list of its machine confirms that a task that was given up does not run. `listed`: its state there. */
export const isGoneByList = (
  task: PerhapsRunning & { acknowledged: boolean },
  listed: TaskState | undefined,
): boolean =>
  // A launch that was not answered may still be on its way, and has to be withdrawn first.
  task.ended && task.mayRun && (listed === undefined ? task.acknowledged : isTerminal(listed));

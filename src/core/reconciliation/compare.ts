import { isTerminal, type TaskState } from '../model/enums.js';

/** What we believe of a task that was launched on a machine. */
export interface BelievedTask {
  taskId: string;
  slaveId: string;
  incarnation: string;
  state: TaskState;
  ended: boolean;
  /** The machine has answered its launch: from then on it must know of it. */
  acknowledged: boolean;
}

export interface FoundStatus {
  taskId: string;
  slaveId: string;
  state: TaskState;
  /** Of the machine that has it; absent: it has no such task. */
  incarnation?: string;
  reason?: string;
  message: string;
}

/**
 * What the list of a machine says about one task, as a status to be applied; undefined: nothing new. `listed`: its state
 * there, undefined when the machine does not have it. Believe a status only when all updates up to the list are applied.
 */
export function compareTask(
  task: BelievedTask,
  listed: TaskState | undefined,
  incarnation: string,
): FoundStatus | undefined {
  if (task.incarnation !== incarnation) return undefined;
  const { taskId, slaveId } = task;
  if (task.ended) {
    if (listed === undefined || isTerminal(listed)) return undefined;
    const reason = 'REASON_AGENT_REREGISTERED';
    return { taskId, slaveId, state: listed, incarnation, reason, message: 'Its slave is back with it' };
  }
  if (listed === undefined) {
    // A launch that was not answered may still be on its way.
    if (!task.acknowledged) return undefined;
    return {
      taskId,
      slaveId,
      state: 'TASK_LOST',
      reason: 'REASON_RECONCILIATION',
      message: 'Its slave does not have it',
    };
  }
  if (listed === task.state) return undefined;
  return { taskId, slaveId, state: listed, incarnation, message: 'Found by reconciliation' };
}

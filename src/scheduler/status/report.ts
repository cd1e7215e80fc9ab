import type { ProgramReport, ShellCommandReport } from '../../cluster/cluster-driver.js';
import type { TaskState } from '../../core/model/enums.js';

/** A new state of a task, as a machine says or as the scheduler concludes. */
export interface Report {
  taskId: string;
  slaveId: string;
  /** Epoch milliseconds. */
  timestamp: number;
  state: TaskState;
  message?: string;
  /** REASON_... */
  reason?: string;
  /** Exit code of a program that failed by itself. */
  exitCode?: number;
  directory?: string;
  /** Set: it is about a command of the task, and about nothing else. */
  shellCommand?: ShellCommandReport;
  /** Set: it is about a program around the main one, and about nothing else. */
  program?: ProgramReport;
  /** Incarnation of the machine that reports it; absent: the scheduler concludes it. */
  incarnation?: string;
}

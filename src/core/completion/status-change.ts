import { isTerminal, type TaskState } from '../model/enums.js';

/** What the scheduler knows of a task when a status of it arrives. */
export interface KnownTask {
  state: TaskState;
  incarnation: string;
  ended: boolean;
}

export interface ReportedStatus {
  state: TaskState;
  /** Of the machine that reports; undefined: the scheduler itself, which speaks for whatever incarnation the task had. */
  incarnation?: string;
}

/** What a reported status changes. */
export type StatusChange =
  /** Repeated, late or from a former life of the machine. */
  | { kind: 'ignore' }
  /** Nobody here wants it to run (any more). */
  | { kind: 'kill' }
  /** It was given up without anybody having seen its end, and it is alive: see decideRecovery. */
  | { kind: 'recover' }
  /** advances: the task is in that state now; a late TASK_STARTING is only recorded, if it is not yet. */
  | { kind: 'record'; advances: boolean; ends: boolean };

const progress: Partial<Record<TaskState, number>> = {
  TASK_LAUNCHED: 0,
  TASK_STAGING: 1,
  TASK_STARTING: 2,
  TASK_RUNNING: 3,
  TASK_KILLING: 4,
};
/** All ends are as far as a task can get, and the first one wins. */
const rank = (state: TaskState): number => progress[state] ?? 5;

/** States that only the scheduler itself writes. */
const internal: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_LAUNCHED', 'TASK_CLEANING']);

/** Ends that the machine saw happen. Whoever ended so never lives again; all others were concluded from an absence. */
const witnessed: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_FINISHED', 'TASK_FAILED', 'TASK_KILLED']);

const signsOfLife: ReadonlySet<TaskState> = new Set<TaskState>(['TASK_STAGING', 'TASK_STARTING', 'TASK_RUNNING']);

/** `task` undefined: its row is not live (any more). Times are not compared: the states themselves have an order. */
export function statusChange(task: KnownTask | undefined, reported: ReportedStatus): StatusChange {
  const ends = isTerminal(reported.state);
  if (internal.has(reported.state)) return { kind: 'ignore' };
  if (task === undefined) return ends ? { kind: 'ignore' } : { kind: 'kill' };
  const isOfNow = reported.incarnation === undefined || reported.incarnation === task.incarnation;
  if (task.ended) {
    if (ends) return { kind: 'ignore' };
    const mayLive = isOfNow && !witnessed.has(task.state) && signsOfLife.has(reported.state);
    return mayLive ? { kind: 'recover' } : { kind: 'kill' };
  }
  if (!isOfNow || reported.state === task.state) return { kind: 'ignore' };
  return { kind: 'record', advances: rank(reported.state) > rank(task.state), ends };
}

import type { ShellCommandOrder } from '../../../src/cluster/cluster-driver.js';
import type { TaskState } from '../../../src/core/model/enums.js';
import type { LaunchSpec, ProgramOfLaunch } from '../../../src/core/model/launch.js';

/** The life of a simulated task. Times in milliseconds of the virtual clock. */
export interface TaskScript {
  /** From launch to TASK_RUNNING. Default 5. */
  startAfter?: number;
  /** From TASK_RUNNING to its end. Default: it runs until it is killed. */
  runFor?: number;
  /** State in which it then ends. Default TASK_FINISHED. */
  exit?: TaskState;
  message?: string;
  reason?: string;
  exitCode?: number;
  /** From a kill with grace to its end; never longer than the grace. Default 10. */
  stopAfter?: number;
  /** Use from launch to end. Default: half of the cpus and memory that it may, and no disk. */
  uses?: SimulatedUse;
  /** Results of commands that are run in it. Default: each finishes after 10 ms. */
  commands?: (order: ShellCommandOrder) => CommandScript;
  /** Lives of programs around the main one. Default: steps succeed after 5 ms, sidecars run until the main program ends. */
  programs?: (program: ProgramOfLaunch) => ProgramScript;
  /** Answers PORT_IN_USE in place of starting. */
  portInUse?: number;
  /** Answers DISK_FULL in place of starting. */
  diskFull?: boolean;
  /** Answers NOT_ADMITTED in place of starting. */
  notAdmitted?: string;
  /** Answers REFUSED in place of starting. */
  refuse?: string;
}

export interface ProgramScript {
  /** From its start to its end. Infinity: it runs until it is killed. */
  runFor?: number;
  /** Default 0. */
  exitCode?: number;
}

export interface CommandScript {
  /** From STARTED to its end. Infinity: it runs until its task ends. */
  runFor?: number;
  /** State in which it then ends; INVALID: at once, it never starts. Default FINISHED. */
  end?: 'INVALID' | 'FINISHED' | 'FAILED';
  message?: string;
}

export interface SimulatedUse {
  cpus?: number;
  memoryMb?: number;
  diskMb?: number;
  /** Share of its time, 0 to 1, in which it is held back. */
  throttled?: number;
}

/** Decides for each launch that is about to start something. */
export type LaunchScript = (spec: LaunchSpec) => TaskScript;

/** Probabilities from 0 to 1 of what can go wrong on the way. */
export interface Faults {
  /** A launch gets lost: answer UNKNOWN, nothing starts. */
  loseLaunch?: number;
  /** A launch arrives late: answer UNKNOWN, and `launchDelayMillis` later it is carried out if it still may. */
  delayLaunch?: number;
  /** A launch is carried out, and its message arrives once more `launchDelayMillis` later. */
  doubleLaunch?: number;
  /** Default 10,000. */
  launchDelayMillis?: number;
  /** A launch is carried out, its answer is lost: answer UNKNOWN. */
  loseLaunchAnswer?: number;
  /** A kill gets lost: answer UNKNOWN. */
  loseKill?: number;
  /** A kill arrives late: answer UNKNOWN, carried out `launchDelayMillis` later. */
  delayKill?: number;
  /** A command gets lost: answer UNKNOWN. */
  loseCommand?: number;
  /** A command is carried out, its answer is lost: answer UNKNOWN. */
  loseCommandAnswer?: number;
  /** A batch of updates gets lost on its way; it is repeated, since it was not acknowledged. */
  loseUpdates?: number;
  /** A machine's updates are held up for `updateDelayMillis`, and all that follow with them. */
  delayUpdates?: number;
  /** Default 10,000. */
  updateDelayMillis?: number;
  /** A batch of updates is delivered a second time after it was acknowledged. */
  duplicateUpdates?: number;
  /** The updates of a batch arrive in another order. */
  reorderUpdates?: number;
}

/** The faults that are probabilities, by name; the others say how long. */
export type MessageFault = Exclude<keyof Faults, 'launchDelayMillis' | 'updateDelayMillis'>;

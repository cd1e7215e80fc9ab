import type { TaskState } from '../../core/model/enums.js';
import { messageOf } from '../../platform/files.js';
import { DeployFault } from '../artifacts/order.js';

/** Facts when a task has ended. */
export interface EndFacts {
  /** As a shell reports it: 128 + n after signal n. undefined: the shim was gone before it could write it. */
  exitCode?: number;
  /** False: the program never began; the shim's own steps failed. */
  started: boolean;
  kill?: { graceMillis: number; tookMillis: number; forced: boolean };
  threads?: { seen: number; limit: number };
  /** MB that it may take of the disk, and took more of. */
  diskExceededMb?: number;
  /** The result file of the health check did not come within this time. */
  healthFileMissingAfterSeconds?: number;
  /** The engine did not have its container run within this time. */
  containerMissingAfterSeconds?: number;
  /** Set: not yet reported as running because the result file has not come. */
  waitingForHealthFile: boolean;
  memoryExceededMb?: number;
  successfulExitCodes: readonly number[];
  /** True when the program looks like a line for a shell. */
  programIsShellLine: boolean;
}

export interface TaskOutcome {
  state: TaskState;
  message: string;
  reason?: string;
  /** Exit code of a program that failed by itself. */
  exitCode?: number;
}

/** The first line that fits decides; so a kill that was asked for wins over the way in which the task then ended. */
export function outcomeOf(facts: EndFacts): TaskOutcome {
  if (facts.healthFileMissingAfterSeconds !== undefined)
    return failed(`Timed out after ${facts.healthFileMissingAfterSeconds} s waiting for the health file`);
  if (facts.threads)
    return failed(
      `Killed for too many threads: ${facts.threads.seen}, limit ${facts.threads.limit}`,
      'REASON_CONTAINER_LIMITATION',
    );
  if (facts.diskExceededMb !== undefined)
    return failed(`Disk limit exceeded: ${facts.diskExceededMb} MB`, 'REASON_CONTAINER_LIMITATION_DISK');
  if (facts.containerMissingAfterSeconds !== undefined)
    return {
      state: 'TASK_LOST',
      message: `The container did not run after ${facts.containerMissingAfterSeconds} s`,
      reason: 'REASON_CONTAINER_LAUNCH_FAILED',
    };
  if (facts.kill && !facts.started && !facts.kill.forced) return killedBeforeStart;
  if (facts.kill) return { state: 'TASK_KILLED', message: killedMessage(facts.kill, facts.exitCode) };
  if (facts.memoryExceededMb !== undefined)
    return failed(`Memory limit exceeded: ${facts.memoryExceededMb} MB`, 'REASON_CONTAINER_LIMITATION_MEMORY');
  if (facts.exitCode === undefined) return failed('shim killed: exit status unknown');
  if (!facts.started) return couldNotStart(facts.exitCode);
  if (isSuccess(facts.exitCode, facts.successfulExitCodes))
    return { state: 'TASK_FINISHED', message: `Exit code ${facts.exitCode}` };
  // No longer than messages are by default: the rest would be cut off.
  if (facts.exitCode === notFound && facts.programIsShellLine)
    return badExit(notFound, 'Exit code 127: not a program; a shell line with arguments needs shell: true');
  const early = facts.waitingForHealthFile ? ' before the health file was there' : '';
  return badExit(facts.exitCode, `Exit code ${facts.exitCode}${signalText(facts.exitCode)}${early}`);
}

function signalText(exitCode: number): string {
  const number = exitCode - shellSignal;
  return number >= 1 && number <= lastSignal ? ` (signal ${number})` : '';
}

/** A shell tells the end by a signal as this and its number. Greater ones are exit codes: ssh, perl and php end with 255. */
const shellSignal = 128;
const lastSignal = 64;

/** Exit status of a shell that finds no such program. */
const notFound = 127;

/** A list that is given is complete: 0 is a success only if it is in it. */
export const isSuccess = (exitCode: number, successful: readonly number[]): boolean =>
  successful.length > 0 ? successful.includes(exitCode) : exitCode === 0;

function killedMessage(kill: NonNullable<EndFacts['kill']>, exitCode: number | undefined): string {
  if (kill.graceMillis === 0) return `Destroyed (SIGKILL) after ${kill.tookMillis} ms`;
  if (kill.forced) return `Killed by force after waiting at least ${kill.graceMillis} ms, took ${kill.tookMillis} ms`;
  return `Killed gracefully, exit code ${exitCode ?? 'unknown'}, ${kill.tookMillis} ms after the kill`;
}

export const killedBeforeStart: TaskOutcome = { state: 'TASK_KILLED', message: 'Killed before start' };

const couldNotStart = (shimStatus: number): TaskOutcome => ({
  state: 'TASK_LOST',
  message: `Could not start, see shim.log (shim ended with ${shimStatus})`,
  reason: 'REASON_CONTAINER_LAUNCH_FAILED',
});

const failed = (message: string, reason?: string): TaskOutcome => ({ state: 'TASK_FAILED', message, reason });

const badExit = (exitCode: number, message: string): TaskOutcome => ({ ...failed(message), exitCode });

/** An init step did not succeed. */
export class StepFailed extends Error {}

/** What a step did that was to succeed; undefined: it has. */
export function programFailure(
  {
    hasBegun,
    exitCode,
    isLate,
    isKilled,
  }: { hasBegun: boolean; exitCode?: number; isLate: boolean; isKilled: boolean },
  timeoutMillis: number | undefined,
): string | undefined {
  if (isKilled) return 'was killed';
  if (isLate) return `took longer than ${timeoutMillis} ms`;
  if (!hasBegun) return `could not start, see shim.log (shim ended with ${exitCode})`;
  if (exitCode === undefined) return 'ended with an unknown exit code: its shim was killed';
  return exitCode === 0 ? undefined : `ended with exit code ${exitCode}${signalText(exitCode)}`;
}

/** State of a step that has ended. `failure`: of programFailure. */
export const stepEnd = (failure: string | undefined, exitCode: number | undefined) => ({
  state: failure === undefined ? ('SUCCEEDED' as const) : ('FAILED' as const),
  exitCode,
  message: failure === undefined ? 'Exit code 0' : `It ${failure}`,
});

/** The first of the failures, each a name and what went wrong, as far as there is room: the outcome itself stays as it is. */
export function withPostFailures<Outcome extends { message?: string }>(
  outcome: Outcome,
  [first, ...others]: readonly string[],
): Outcome {
  if (first === undefined) return outcome;
  const more = others.length > 0 ? `, and ${others.length} more` : '';
  return { ...outcome, message: `${outcome.message ?? 'Ended'}; post step ${first}${more}` };
}

/** A task that could not be started has failed if its deploy is to blame, and is lost if this machine is. */
export const outcomeOfFailedStart = (cause: unknown): TaskOutcome =>
  cause instanceof StepFailed
    ? failed(messageOf(cause))
    : cause instanceof DeployFault
      ? { state: 'TASK_FAILED', message: messageOf(cause), reason: cause.reason }
      : { state: 'TASK_LOST', message: messageOf(cause), reason: 'REASON_CONTAINER_LAUNCH_FAILED' };

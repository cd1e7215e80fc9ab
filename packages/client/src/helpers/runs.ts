import type { Muster } from '../generated/operations.js';
import type { RunNowRequest, SchedulerTaskState, TaskId, TaskState } from '../generated/records.js';
import { MusterError } from '../errors.js';
import { freshId } from '../transport.js';
import { Waiting, type WaitOptions } from './waiting.js';

/** End of a run. */
export interface EndedRun {
  readonly runId: string;
  readonly taskId: TaskId;
  readonly state: TaskState;
  /** Its task ended in TASK_FINISHED. */
  readonly succeeded: boolean;
  /** Exit code of its program; undefined where no program ended, as when its machine was lost. */
  readonly exitCode: number | undefined;
  /** Message of its last status. */
  readonly message: string | undefined;
}

export interface WhichRun {
  readonly requestId: string;
  readonly runId: string;
  /** `pendingRequest.askedAt` of the answer to the call that asked for it; unless given, it is the newest run of this id. */
  readonly askedAt?: number | undefined;
}

const ends: ReadonlySet<TaskState | undefined> = new Set<TaskState>([
  'TASK_FINISHED',
  'TASK_FAILED',
  'TASK_KILLED',
  'TASK_LOST',
  'TASK_LOST_WHILE_DOWN',
  'TASK_ERROR',
  'TASK_DROPPED',
  'TASK_GONE',
  'TASK_GONE_BY_OPERATOR',
]);

/** True if a task in this state runs no more and never will. */
export const hasEnded = (state: TaskState | undefined): boolean => ends.has(state);

/** Time for which a run that was accepted may be unknown: the call that reads may meet another instance. */
const UNKNOWN_MS = 10_000;

/** Tells how far a run has come, now and each time that changes, until it has ended. */
export async function* watchRun(
  muster: Muster,
  { requestId, runId, askedAt }: WhichRun,
  options: WaitOptions = {},
): AsyncGenerator<SchedulerTaskState, void, undefined> {
  const waiting = new Waiting(`Run ${runId} of ${requestId}`, options, 15, 500);
  const begun = performance.now();
  let last = '';
  for (;;) {
    const seen = await waiting.ask((call) =>
      muster.track
        .run({ requestId, runId, ...(askedAt !== undefined && { askedAt }) }, call)
        .catch((cause: unknown) => {
          const isNew = performance.now() - begun < UNKNOWN_MS;
          if (isNew && cause instanceof MusterError && cause.status === 404) return undefined;
          throw cause;
        }),
    );
    const text = JSON.stringify(seen);
    if (seen && text !== last) {
      last = text;
      waiting.quicken();
      yield seen;
    }
    if (seen && hasEnded(seen.currentState) && !seen.pending) return;
    await waiting.pause();
  }
}

export interface StartRunOptions {
  /** Follow a run of this `runId` where there is one already; unless given, such a run id is refused. */
  readonly attach?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface StartedRun extends WhichRun {
  /** It had been asked for before this call. */
  readonly attached: boolean;
}

/**
 * Asks for a run of an ON_DEMAND or SCHEDULED request and answers which one it is. A `runId` that a run of the request has already is
 * refused with 409 RUN_ID_USED.
 */
export async function startRun(
  muster: Muster,
  { requestId, ...run }: RunNowRequest & { requestId: string },
  { attach = false, signal }: StartRunOptions = {},
): Promise<StartedRun> {
  const runId = run.runId ?? freshId();
  // A fresh id need not be looked for.
  const newRunId = run.runId !== undefined && { newRunId: true };
  try {
    const body = { ...run, runId };
    const { pendingRequest } = await muster.requests.run({ requestId, minimal: true, ...newRunId, body }, { signal });
    return { requestId, runId, askedAt: pendingRequest?.askedAt, attached: false };
  } catch (cause) {
    if (!attach || !(cause instanceof MusterError) || cause.code !== 'RUN_ID_USED') throw cause;
    return { requestId, runId, attached: true };
  }
}

export interface RunOptions extends WaitOptions, StartRunOptions {
  /** Called with the progress of the run, each time that changes. */
  readonly onProgress?: ((state: SchedulerTaskState) => void) | undefined;
}

/** Runs an ON_DEMAND or SCHEDULED request once and waits for the end of that run. */
export async function runAndWait(
  muster: Muster,
  run: RunNowRequest & { requestId: string },
  { onProgress, ...options }: RunOptions = {},
): Promise<EndedRun> {
  const started = await startRun(muster, run, options);
  let last: SchedulerTaskState | undefined;
  for await (last of watchRun(muster, started, options)) onProgress?.(last);
  return endOfRun(started.runId, last!);
}

/** The end of a run, out of its last state that `watchRun` told. */
export function endOfRun(runId: string, { taskId, currentState, taskHistory }: SchedulerTaskState): EndedRun {
  const message = taskHistory.findLast(({ taskState }) => taskState === currentState)?.statusMessage;
  return {
    runId,
    taskId: taskId!,
    state: currentState!,
    succeeded: currentState === 'TASK_FINISHED',
    exitCode: exitCodeIn(message),
    message,
  };
}

const KILLED_BY_FORCE = 137;

/** Records have no member for it: the message of the end says it, as a shell reports it. */
function exitCodeIn(message = ''): number | undefined {
  const told = /\bexit code (\d+)/i.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  return /^(?:Destroyed|Killed by force)\b/.test(message) ? KILLED_BY_FORCE : undefined;
}

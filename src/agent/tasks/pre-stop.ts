import { get } from 'node:http';
import type { LaunchSpec } from '../../core/model/launch.js';
import { messageOf } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import type { LineEnd, LineLimits } from '../shell-commands/line-run.js';
import type { TaskContext } from './task-context.js';

interface EndingTask {
  isRunning(): boolean;
  runLine(line: string, limits: LineLimits, signal: AbortSignal): Promise<LineEnd>;
}

/** Bytes of the output that are told when it fails. */
const maxOutputBytes = 500;

/** Work of a task before it is signalled to end; undefined: none. However that goes, its end goes on. */
export function preStopOf(
  { log }: Pick<TaskContext, 'log'>,
  { taskId, preStop }: Pick<LaunchSpec, 'taskId' | 'preStop'>,
  task: EndingTask,
): ((signal: AbortSignal) => Promise<void>) | undefined {
  if (!preStop) return undefined;
  const { command, http, timeoutMillis } = preStop;
  return async (signal) => {
    if (!task.isRunning()) return;
    const tooLong = AbortSignal.timeout(timeoutMillis);
    const failed = (why: string) => log.warn(`Task ${taskId}: its preStop failed: ${why}`);
    try {
      if (http) await withSignal([signal, tooLong], (stop) => call(http, stop));
      const end =
        command === undefined ? undefined : await task.runLine(command, { timeoutMillis, maxOutputBytes }, signal);
      if (end?.kind === 'failed') failed(end.reason);
      else if (end && end.exitCode !== 0) failed(`exit code ${end.exitCode} ${end.output.trim()}`);
    } catch (cause) {
      failed(
        signal.aborted || tooLong.aborted
          ? `it took longer than ${timeoutMillis} ms, or the task had ended`
          : messageOf(cause),
      );
    }
  };
}

/** One call of a port of the task; its answer is waited for, as a program may answer when it is ready to end. */
function call({ uri, port }: { uri: string; port: number }, signal: AbortSignal): Promise<void> {
  const url = new URL(`http://localhost:${port}${uri}`);
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, signal }, (response) => {
      const { statusCode = 0 } = response;
      response.on('error', reject);
      response.on('end', () => (statusCode < 400 ? resolve() : reject(new Error(`status ${statusCode}`))));
      response.resume();
    });
    request.on('error', reject);
  });
}

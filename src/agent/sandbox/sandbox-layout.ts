import { chown, lstat, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentFolder } from '../agent-folder.js';
import { ensureFolder, errorCode, isMissing } from '../files.js';
import type { RunAs } from '../machine/run-as.js';
import { fileNameOf } from '../tasks/task-folder.js';

/** Names inside the working area of a task with executorData, one folder below its sandbox. */
export interface ExecutorLayout {
  folder: string;
  app: string;
  runner: string;
  deployEnv: string;
  serviceLog: string;
  tailLog: string;
  bashLog: string;
  executorLog: string;
}

export interface Sandbox {
  root: string;
  executor?: ExecutorLayout;
}

export const sandboxRoot = (agent: AgentFolder, taskId: string): string => join(agent.sandboxes, fileNameOf(taskId));

export function sandboxOfSpec(agent: AgentFolder, spec: LaunchSpec): Sandbox {
  const root = sandboxRoot(agent, spec.taskId);
  if (!spec.executorData) return { root };
  const folder = join(root, spec.taskId.replaceAll(':', '_'));
  const at = (name: string) => join(folder, name);
  return {
    root,
    executor: {
      folder,
      app: at('app'),
      runner: at('runner.sh'),
      deployEnv: at('deploy.env'),
      serviceLog: at('service.log'),
      tailLog: at('tail_of_finished_service.log'),
      bashLog: at('executor.bash.log'),
      executorLog: at('executor.log'),
    },
  };
}

/** Where a path relative to the task's working folder lies. */
const inWorkingFolder = (sandbox: Sandbox, path: string): string => join(sandbox.executor?.app ?? sandbox.root, path);

/** The folders and the files that clients expect from the beginning, owned by the user that the task runs as. */
export async function createSandbox(sandbox: Sandbox, runAs: RunAs | undefined): Promise<void> {
  const give = async (path: string) => {
    if (runAs) await chown(path, runAs.uid, runAs.gid);
  };
  const folder = async (path: string, mode: number) => {
    await ensureFolder(path, mode);
    await give(path);
  };
  const file = async (path: string) => {
    await (await open(path, 'a', 0o644)).close();
    await give(path);
  };
  await folder(sandbox.root, 0o755);
  if (!sandbox.executor) {
    await Promise.all([file(join(sandbox.root, 'stdout')), file(join(sandbox.root, 'stderr'))]);
    return;
  }
  const { folder: area, app, serviceLog, bashLog, executorLog } = sandbox.executor;
  await folder(area, 0o755);
  await folder(app, 0o755);
  await folder(join(area, 'tmp'), 0o750);
  await folder(join(area, 'logs'), 0o755);
  await Promise.all([file(serviceLog), file(bashLog), file(executorLog)]);
}

const tailLines = 2_500;
/** Lines longer than 400 bytes on average are cut short by this. */
const tailBytes = 1024 * 1024;

/** Keeps the last lines of the service log in a file of their own. Written once, never again. */
export async function saveTail(layout: Pick<ExecutorLayout, 'serviceLog' | 'tailLog'>): Promise<void> {
  try {
    await writeFile(layout.tailLog, lastLines(await readEnd(layout.serviceLog)), { flag: 'wx' });
  } catch (cause) {
    // Nothing was logged because nothing was prepared, or the tail has been saved before a restart of the agent.
    if (!isMissing(cause) && errorCode(cause) !== 'EEXIST') throw cause;
  }
}

async function readEnd(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - tailBytes);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function lastLines(text: Buffer): Buffer {
  // The newline at the very end finishes the last line and begins no other.
  let newline = text.length - 1;
  for (let lines = 0; lines < tailLines; lines++) {
    newline = newline > 0 ? text.lastIndexOf('\n', newline - 1) : -1;
    if (newline < 0) return text;
  }
  return text.subarray(newline + 1);
}

const longestPauseMillis = 1_000;

/** Waits for the result file of a task's health check, counted from `startedAt` (epoch millis). */
export async function whenHealthFileComes(
  file: NonNullable<LaunchSpec['healthcheckResultFile']>,
  sandbox: Sandbox,
  startedAt: number,
  signal: AbortSignal,
): Promise<'FOUND' | 'TOO_LATE' | 'TASK_OVER'> {
  const path = inWorkingFolder(sandbox, file.path);
  const pauseMillis = Math.min(longestPauseMillis, file.intervalSeconds * 1000);
  const deadline = performance.now() + file.timeoutSeconds * 1000 - (Date.now() - startedAt);
  for (;;) {
    if (await isThere(path)) return 'FOUND';
    if (signal.aborted) return 'TASK_OVER';
    if (performance.now() >= deadline) return 'TOO_LATE';
    await delay(pauseMillis, undefined, { signal }).catch(() => undefined);
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

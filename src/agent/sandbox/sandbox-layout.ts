import { chownSync, constants, mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaunchSpec, ProgramOfLaunch } from '../../core/model/launch.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { isMissing } from '../../platform/files.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import type { RunAs } from '../processes/run-as.js';
import { fileNameOf } from '../state/task-directory.js';
import { existsBelow, ownerOf } from './below.js';

/** Names inside the working area of a task with executorData, one directory below its sandbox. */
export interface ExecutorLayout {
  directory: string;
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
  /** Output files of the programs around the main one. */
  programLogs?: string[];
  /** Directory of the output of its main program, where the agent writes that itself and no task gets to it. */
  output?: string;
  /** Working area of a task with executorData that has no layout of its own. */
  area?: string;
  /** Path of the root as the processes of the task have it; absent: the same. */
  seenAs?: string;
}

/** Files at the top of the sandbox that take the output and the errors of a program around the main one. */
export const outputsOf = ({ name }: Pick<ProgramOfLaunch, 'name'>): [string, string] => [
  `${name}.stdout`,
  `${name}.stderr`,
];

export const sandboxRoot = (agent: AgentDirectory, taskId: string): string => agent.sandboxOf(fileNameOf(taskId));

/** Directory in the working area in which the command of a task with executorData runs. */
export const appDirectory = 'app';

/** The working area of a task with executorData, below its sandbox. */
const areaOf = (taskId: string): string => taskId.replaceAll(':', '_');
const startFileNames = { runner: 'runner.sh', deployEnv: 'deploy.env', dockerEnv: 'docker.env' } as const;

/** Below the sandbox: what the agent wrote for the task's start, its environment among it. */
export const startFilesOf = (taskId: string): string[] =>
  Object.values(startFileNames).map((name) => join(areaOf(taskId), name));

export function sandboxOfSpec(agent: AgentDirectory, spec: LaunchSpec): Sandbox {
  const root = sandboxRoot(agent, spec.taskId);
  if (spec.programs) return { root, programLogs: Object.values(spec.programs).flat().flatMap(outputsOf) };
  if (!spec.executorData) return { root };
  return { root, executor: executorLayout(root, spec.taskId, spec.container !== undefined) };
}

/** `root`: the sandbox. */
export function executorLayout(root: string, taskId: string, isInContainer: boolean): ExecutorLayout {
  const directory = join(root, areaOf(taskId));
  const at = (name: string) => join(directory, name);
  return {
    directory,
    app: at(appDirectory),
    runner: at(startFileNames.runner),
    deployEnv: at(isInContainer ? startFileNames.dockerEnv : startFileNames.deployEnv),
    serviceLog: at('service.log'),
    tailLog: at('tail_of_finished_service.log'),
    bashLog: at('executor.bash.log'),
    executorLog: at('executor.log'),
  };
}

/** A file that is there before the task begins. */
export interface NewFile {
  path: string;
  text?: string;
  mode: number;
}

/**
 * The directories and the files that clients expect from the beginning, and `files`, owned by the user that the task runs as.
 * Until everything is there, the sandbox is closed to that user, whose other tasks could put links in the way. At once, see
 * `writeForUser`.
 */
export function createSandbox(
  { root, executor, programLogs = [] }: Sandbox,
  runAs: RunAs | undefined,
  files: readonly NewFile[],
): void {
  mkdirSync(root, { mode: 0o700 });
  const give = (path: string) => {
    if (runAs) chownSync(path, runAs.uid, runAs.gid);
  };
  const directory = (path: string, mode: number) => {
    mkdirSync(path, { mode });
    give(path);
  };
  const file = ({ path, text = '', mode }: NewFile) => {
    writeFileSync(path, text, { flag: 'wx', mode });
    give(path);
  };
  const log = (path: string): NewFile => ({ path, mode: 0o644 });
  if (executor) {
    const { directory: area, app, serviceLog, bashLog, executorLog } = executor;
    directory(area, 0o755);
    directory(app, 0o755);
    directory(join(area, 'tmp'), 0o750);
    directory(join(area, 'logs'), 0o755);
    for (const path of [serviceLog, bashLog, executorLog]) file(log(path));
  } else for (const name of ['stdout', 'stderr', ...programLogs]) file(log(join(root, name)));
  for (const one of files) file(one);
  // Everything below is as closed as this: to all but the task and the agent, as far as the agent is root.
  give(root);
}

/**
 * The agent's alone from now on: users of tasks are used again. Its group, which may do nothing, says who had it (see
 * `ownerOf`).
 */
export async function closeSandbox({ root }: Pick<Sandbox, 'root'>): Promise<void> {
  const directory = await open(root, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(
    (cause: unknown) => {
      // Nothing was prepared, or it has been removed.
      if (isMissing(cause)) return undefined;
      throw cause;
    },
  );
  if (!directory) return;
  try {
    if (process.getuid?.() === 0) await directory.chown(0, ownerOf(await directory.stat()));
    await directory.chmod(0o700);
  } finally {
    await directory.close();
  }
}

const longestPauseMillis = 1_000;

/** Waits for the result file of a task's health check, counted from `startedAt` by the monotonic clock. */
export async function whenHealthFileComes(
  file: NonNullable<LaunchSpec['healthcheckResultFile']>,
  sandbox: Sandbox,
  startedAt: number,
  signal: AbortSignal,
): Promise<'FOUND' | 'TOO_LATE' | 'TASK_OVER'> {
  const path = relative(sandbox.root, join(sandbox.executor?.app ?? sandbox.root, file.path));
  const pauseMillis = Math.min(longestPauseMillis, file.intervalSeconds * 1000);
  const deadline = startedAt + file.timeoutSeconds * 1000;
  for (;;) {
    if (await existsBelow(sandbox.root, path)) return 'FOUND';
    if (signal.aborted) return 'TASK_OVER';
    if (monotonicMillis() >= deadline) return 'TOO_LATE';
    await delay(pauseMillis, undefined, { signal }).catch(() => undefined);
  }
}

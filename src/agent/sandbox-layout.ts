import { chown, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { LaunchSpec } from '../cluster/cluster-driver.js';
import type { AgentFolder } from './agent-folder.js';
import { ensureFolder } from './files.js';
import { fileNameOf } from './task-folder.js';
import type { RunAs } from './run-as.js';

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
export const inWorkingFolder = (sandbox: Sandbox, path: string): string =>
  join(sandbox.executor?.app ?? sandbox.root, path);

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

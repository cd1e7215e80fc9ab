import type { LaunchSpec } from '../cluster/cluster-driver.js';
import type { AgentContext } from './agent-context.js';
import type { TaskGroup } from './cgroups/cgroups.js';
import { commandOf } from './command.js';
import { messageOf } from './files.js';
import type { Outcome } from './outcome.js';
import { DeployFault } from './prepare/faults.js';
import { prepareSandbox } from './prepare/prepare.js';
import type { RunAs } from './run-as.js';
import type { Sandbox } from './sandbox-layout.js';
import { startShim, type Shim } from './shim.js';
import { bootstrapEnvironment, taskEnvironment } from './task-environment.js';
import type { TaskFolder } from './task-folder.js';

/** What is needed to start one task. */
export interface TaskStart {
  spec: LaunchSpec;
  folder: TaskFolder;
  sandbox: Sandbox;
  group: TaskGroup;
  runAs: RunAs | undefined;
  /** Its abort ends the preparation; after that nothing is started. */
  signal: AbortSignal;
}

/** Prepares the sandbox and the limits, then starts the task under its shim. */
export async function prepareAndStart(context: AgentContext, start: TaskStart): Promise<Shim> {
  const { spec, folder, sandbox, group, runAs, signal } = start;
  const { searchPath, shell, scripts } = context;
  const environment = taskEnvironment(spec, sandbox, runAs, searchPath);
  await prepareSandbox({ spec, sandbox, environment, runAs, shell, signal });
  group.create(spec);
  const command = commandOf(spec, sandbox, runAs, shell);
  const shimEnvironment = sandbox.executor ? bootstrapEnvironment(environment, searchPath) : environment;
  // Nothing is awaited from this look until the process is there: no kill can come in between unseen.
  signal.throwIfAborted();
  return startShim(scripts, folder, command, shimEnvironment, group.procsFiles);
}

/** A task that could not be started has failed if its deploy is to blame, and is lost if this machine is. */
export const couldNotStart = (cause: unknown): Outcome =>
  cause instanceof DeployFault
    ? { state: 'TASK_FAILED', message: messageOf(cause) }
    : { state: 'TASK_LOST', message: messageOf(cause), reason: 'REASON_CONTAINER_LAUNCH_FAILED' };

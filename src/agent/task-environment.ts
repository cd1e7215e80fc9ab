import { homedir } from 'node:os';
import type { LaunchSpec } from '../cluster/cluster-driver.js';
import { sandboxVariable } from './processes.js';
import type { RunAs } from './run-as.js';
import type { Sandbox } from './sandbox-layout.js';

/** The launch's variables plus what only the machine knows. */
export function taskEnvironment(
  spec: LaunchSpec,
  sandbox: Sandbox,
  runAs: RunAs | undefined,
  searchPath: string,
): Record<string, string> {
  return {
    PATH: searchPath,
    HOME: runAs?.home ?? homedir(),
    ...spec.environment,
    CLUSTER_TASK_ID: spec.taskId,
    [sandboxVariable]: sandbox.root,
  };
}

/** What the start script of a task with executorData needs before it reads the rest from deploy.env. */
export function bootstrapEnvironment(environment: Record<string, string>, searchPath: string): Record<string, string> {
  const names = ['HOME', 'CLUSTER_TASK_ID', sandboxVariable];
  return { PATH: searchPath, ...Object.fromEntries(names.map((name) => [name, environment[name] ?? ''])) };
}

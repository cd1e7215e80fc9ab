import { execFile } from 'node:child_process';
import { appendFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { LaunchSpec } from '../../cluster/cluster-driver.js';
import { deployEnv } from '../deploy-env.js';
import type { RunAs } from '../run-as.js';
import { createSandbox, type ExecutorLayout, type Sandbox } from '../sandbox-layout.js';
import { runner } from '../shim-scripts.js';
import { placeDownload, placeEmbedded, placeExternal, type Staging } from './artifacts.js';

const run = promisify(execFile);

export interface Preparation {
  spec: LaunchSpec;
  sandbox: Sandbox;
  environment: Record<string, string>;
  runAs: RunAs | undefined;
  /** The shell that reads the start script of tasks with executorData. */
  shell: string;
  /** Its abort ends the preparation early. */
  signal: AbortSignal;
}

/** Fills the sandbox with everything the task needs before its first instruction. */
export async function prepareSandbox(preparation: Preparation): Promise<void> {
  const { spec, sandbox, runAs, signal } = preparation;
  await createSandbox(sandbox, runAs);
  const staging = stagingIn(sandbox.root, preparation);
  for (const artifact of spec.artifacts) await placeDownload(artifact, staging);
  if (sandbox.executor) await prepareExecutor(sandbox.executor, preparation);
  if (runAs) await staging.give();
  signal.throwIfAborted();
}

async function prepareExecutor(layout: ExecutorLayout, preparation: Preparation): Promise<void> {
  const { spec, environment, shell } = preparation;
  const staging = stagingIn(layout.folder, preparation);
  for (const artifact of spec.executorData?.embeddedArtifacts ?? []) await placeEmbedded(artifact, staging);
  for (const artifact of spec.executorData?.externalArtifacts ?? []) await placeExternal(artifact, staging);
  // The variables may hold passwords, and sandboxes can be read by everybody on the machine.
  await writeFile(layout.deployEnv, deployEnv(environment), { mode: 0o600 });
  await writeFile(layout.runner, `#!${shell}\n${runner}`, { mode: 0o755 });
}

function stagingIn(folder: string, { sandbox, runAs, signal }: Preparation): Staging {
  return {
    folder,
    signal,
    asUser: runAs?.prefix ?? [],
    give: async () => {
      // Links are given away themselves, not what they point at.
      if (runAs) await run('chown', ['-R', '-h', `${runAs.uid}:${runAs.gid}`, folder]);
    },
    note: async (line) => {
      if (sandbox.executor) await appendFile(sandbox.executor.executorLog, `${line}\n`);
    },
  };
}

import { execFile } from 'node:child_process';
import type { Lab } from '../lab/lab.js';
import { labBinaries } from '../lab/lab.js';

/** Runs lines as an operator types them, who has the programs of the lab and may do everything in it. They stop at the first that fails. */
export async function runShell(
  lab: Lab,
  script: string,
  env: Record<string, string>,
): Promise<{ failed: boolean; output: string }> {
  const whole = {
    ...process.env,
    PATH: `${labBinaries}:${process.env['PATH']}`,
    KUBECONFIG: lab.adminConfig,
    ...env,
  };
  const words = ['--norc', '-euo', 'pipefail', '-c', script];
  return new Promise((resolve) => {
    execFile('bash', words, { env: whole, timeout: 150_000 }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, output: stdout + stderr }),
    );
  });
}

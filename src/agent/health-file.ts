import { lstat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { LaunchSpec } from '../cluster/cluster-driver.js';
import { inWorkingFolder, type Sandbox } from './sandbox-layout.js';

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

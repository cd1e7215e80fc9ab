import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessStat } from '../process-identity.js';
import { allProcesses, signal, variableOf } from '../processes.js';

/** Name of the variable by which the processes of a command are known: the path of its record. */
export const commandVariable = 'CLUSTER_COMMAND';

const firstPauseMillis = 2;
const lastPauseMillis = 100;
/** A process that SIGKILL does not end hangs in the kernel. */
const giveUpAfterMillis = 30_000;

/** The live processes of a command. `session`: the number of its session while that is known to be its own. */
const processesOf = (mark: string, session: number | undefined): ProcessStat[] =>
  allProcesses().filter(
    (found) =>
      found.session === session || (found.pid !== process.pid && variableOf(found.pid, commandVariable) === mark),
  );

/** SIGKILL until nothing is left. */
export async function killCommand(mark: string, session: () => number | undefined): Promise<void> {
  const begun = performance.now();
  for (let pauseMillis = firstPauseMillis; ; pauseMillis = Math.min(pauseMillis * 2, lastPauseMillis)) {
    const left = processesOf(mark, session());
    if (left.length === 0 || performance.now() > begun + giveUpAfterMillis) return;
    for (const found of left) signal(found, 'SIGKILL');
    await delay(pauseMillis);
  }
}

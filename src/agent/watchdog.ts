import { setTimeout as delay } from 'node:timers/promises';
import type { AgentContext } from './agent-context.js';
import type { Machines } from './machines.js';
import { sweep } from './sweep.js';
import type { Tasks } from './tasks.js';
import type { Tombstones } from './tombstones.js';

const memoryEveryMillis = 1_000;
const portsEveryMillis = 3_000;
const sweepEveryMillis = 3600 * 1000;

/** Everything an agent does by itself from time to time. Resolves when the agent stops. */
export async function watchOver(
  context: AgentContext,
  tasks: Tasks,
  machines: Machines,
  tombstones: Tombstones,
): Promise<void> {
  const { checkThreadsEveryMillis } = context.settings;
  await Promise.all([
    every(memoryEveryMillis, 'check memory', context, () => forEachLive(tasks, (run) => run.checkMemory())),
    every(checkThreadsEveryMillis, 'count threads', context, () => forEachLive(tasks, (run) => run.checkThreads())),
    every(portsEveryMillis, 'look at ports', context, () => machines.portsInUse.lookAgain()),
    every(sweepEveryMillis, 'remove old files', context, () =>
      sweep(context.folder, context.settings, tombstones, Date.now()),
    ),
  ]);
}

async function forEachLive(
  tasks: Tasks,
  check: (run: ReturnType<Tasks['live']>[number]) => Promise<void>,
): Promise<void> {
  await Promise.all(tasks.live().map(check));
}

/** The pause begins when the work has ended; work that failed is done again after it. */
async function every(millis: number, what: string, context: AgentContext, work: () => Promise<void>): Promise<void> {
  while (!context.stopping.aborted) {
    await work().catch((cause: unknown) => context.log.error(`Could not ${what}`, cause));
    await delay(millis, undefined, { signal: context.stopping, ref: false }).catch(() => undefined);
  }
}

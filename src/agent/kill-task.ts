import type { KillAnswer } from '../cluster/cluster-driver.js';
import type { Epochs } from './epochs.js';
import { fileNameOf } from './task-folder.js';
import type { Tasks } from './tasks.js';
import type { Tombstones } from './tombstones.js';
import { isTerminal } from '../core/model/enums.js';

/** Answers when the kill, or the tombstone of an id never heard of, would survive a restart. `epoch` has been admitted. */
export function killTask(
  { tasks, tombstones, epochs }: { tasks: Tasks; tombstones: Tombstones; epochs: Epochs },
  { taskId, graceMillis, epoch }: { taskId: string; graceMillis: number; epoch: number },
): Promise<Exclude<KillAnswer, 'UNKNOWN'>> {
  return tasks.decisions.run(taskId, async () => {
    epochs.require(epoch);
    const run = tasks.find(taskId);
    if (run && !isTerminal(run.state)) {
      await run.requestKill(graceMillis);
      return 'KILLING';
    }
    // A launch that is still on its way must find this and start nothing.
    if (!(await tasks.stateOf(taskId)))
      await tombstones.put(fileNameOf(taskId), { reason: 'KILLED_BEFORE_LAUNCH', at: Date.now() });
    return 'GONE';
  });
}

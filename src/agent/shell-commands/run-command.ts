import type { ShellCommandAnswer, ShellCommandOrder } from '../../cluster/cluster-driver.js';
import { isTerminal } from '../../core/model/enums.js';
import type { AgentParts } from '../agent-parts.js';
import { TaskFolder } from '../task-folder.js';
import { CommandRecord } from './command-record.js';

/** Answers when the command is on disk, from when on it is never begun a second time. `epoch` has been admitted. */
export function runCommand(
  { context, tasks, epochs }: Pick<AgentParts, 'context' | 'tasks' | 'epochs'>,
  order: ShellCommandOrder,
  epoch: number,
): Promise<Exclude<ShellCommandAnswer, 'UNKNOWN'>> {
  return tasks.decisions.run(order.taskId, async () => {
    const places = [
      TaskFolder.live(context.folder, order.taskId),
      TaskFolder.ended(context.folder, order.taskId),
    ] as const;
    for (const place of places) if (await CommandRecord.of(place, order).exists()) return 'ACCEPTED';
    epochs.require(epoch);
    const run = tasks.find(order.taskId);
    if (!run || isTerminal(run.state)) return 'GONE';
    return (await run.commands.accept(order)) ? 'ACCEPTED' : 'GONE';
  });
}

import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import type { Run } from '../run.js';

/** Prints the script for a shell, or answers it at a TAB. */
export async function complete(program: Command, run: Run): Promise<void> {
  const { Command: Fresh } = await import('commander');
  // The library adds its commands, which have the names of ours.
  const shown = new Fresh(program.name()).description(program.description());
  for (const command of program.commands) {
    if (command.name() !== 'completion' && command.name() !== 'complete') shown.addCommand(command);
  }
  tab(shown, { completionCommandName: 'completion' });
  await shown.parseAsync([...run.argv], { from: 'user' });
}

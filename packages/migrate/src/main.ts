import { Command, CommanderError } from 'commander';
import { exitCodes } from '../../../src/cli/exit-codes.js';
import { exitWhenWritten } from '../../../src/cli/output/streams.js';
import type { Run } from '../../../src/cli/run.js';
import { reportFailure } from '../../../src/cli/server/report-failure.js';
import { migrate, summaries } from './commands.js';

// The only look at the environment of this process.
const run: Run = { environment: process.env, argv: process.argv.slice(2), exitCode: exitCodes.done };
const program = new Command('muster-migrate')
  .description('Moves from an older installation to Muster: docs/migration.md.')
  .helpCommand(false)
  .exitOverride();
for (const [name, define] of Object.entries(migrate))
  define(program.command(name).description(summaries[name as keyof typeof summaries]), run);
try {
  await program.parseAsync([...run.argv], { from: 'user' });
} catch (cause) {
  if (cause instanceof CommanderError) run.exitCode = cause.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  else {
    reportFailure(cause);
    run.exitCode = exitCodes.failed;
  }
}
await exitWhenWritten(run.exitCode);

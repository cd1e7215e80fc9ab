import { Command, Option } from 'commander';
import { loadSettings, type Flags } from '../platform/settings/load-settings.js';
import type { Settings } from '../platform/settings/settings.js';
import { deployExamples } from './demo.js';
import { makeFirstToken } from './make-token.js';
import { importFrom, type ImportFlags } from './import-from.js';
import { importHistory } from './import-history.js';
import { reportFailure } from './report-failure.js';
import { runAgent } from './run-agent.js';
import { runScheduler } from './run-scheduler.js';
import { showDatabaseUrl } from './show-database-url.js';
import { stopRunning } from './stop-running.js';

/** Runs one command of `muster` and answers the exit code. */
export async function runCommand(
  argv: readonly string[],
  environment: Record<string, string | undefined>,
): Promise<number> {
  let exitCode = 0;
  const settings = (flags: Flags): Settings => loadSettings({ environment, flags });
  const program = new Command('muster')
    .description(
      'Schedules tasks on a cluster of machines. Settings: environment and MUSTER_CONFIG, see docs/settings.md',
    )
    .showHelpAfterError();
  const command = (
    name: string,
    description: string,
    run: (flags: Flags & ImportFlags & { keepTasks?: boolean }, ...words: string[]) => Promise<number>,
  ) =>
    program
      .command(name)
      .description(description)
      .addOption(new Option('--data-dir <folder>', 'where everything lies (MUSTER_DATA_DIR)'))
      .addOption(new Option('--config <file>', 'settings file, YAML or JSON (MUSTER_CONFIG)'))
      // The words after the name come first, then the flags, then the command itself.
      .action(
        async (...given) => void (exitCode = await run(given.at(-2) as Flags, ...(given.slice(0, -2) as string[]))),
      );
  const serving = (built: Command): Command =>
    built
      .addOption(new Option('--port <port>', 'HTTP port (MUSTER_PORT)'))
      .addOption(new Option('--host <host>', 'address to listen on (MUSTER_HOST)'));
  const keepTasks = new Option('--keep-tasks', 'leave agent and tasks running when this process stops').default(false);

  serving(
    command('start', 'database, agent and scheduler', ({ keepTasks = false, ...flags }) =>
      runScheduler(settings(flags), { withAgent: true, keepTasks }),
    ),
  ).addOption(keepTasks);
  serving(
    command('demo', 'the same, with the examples deployed', ({ keepTasks = false, ...flags }) =>
      runScheduler(settings(flags), { withAgent: true, keepTasks, ready: deployExamples }),
    ),
  ).addOption(keepTasks);
  serving(
    command('scheduler', 'the scheduler alone; the agent runs apart', (flags) =>
      runScheduler(settings(flags), { withAgent: false, keepTasks: true }),
    ),
  );
  command('agent', 'the agent of a data directory alone', (flags) => runAgent(settings(flags)));
  command('token', 'makes the token of the first administrator', (flags) => makeFirstToken(settings(flags)))
    // Said out loud, since it takes the place of the token that the administrator had.
    .requiredOption('--bootstrap', 'make it, in the place of the one made so before');
  command('database-url', 'prints the URL of the database, with its password', (flags) =>
    showDatabaseUrl(settings(flags)),
  );
  command('stop', 'stops what runs on a data directory, in order', (flags) => stopRunning(settings(flags).dataDir));
  command(
    'import-history <folder>',
    'copies the history of an older installation: taskHistory.csv, requestHistory.csv, deployHistory.csv, taskUsage.csv',
    (flags, folder) => importHistory(settings(flags), folder!),
  );
  command(
    'import-from <url>',
    'takes what another installation has, through its API: docs/migration.md',
    (flags, url) => importFrom(settings(flags), url!, flags),
  )
    .option('--dry-run', 'say what would be taken and what differs, and write nothing')
    .option('--no-history', 'leave out what happened: changes, deploys and ended tasks')
    .option('--header <name: value>', 'sent with every call, or @file; may be repeated', (one, all: string[] = []) => [
      ...all,
      one,
    ])
    .option('--token <token>', 'sent as Authorization: Bearer, or @file')
    .option('--concurrency <number>', 'calls at the same time (4)')
    .option('--timeout <seconds>', 'for one answer (30)')
    .option('--activate <pattern>', 'hand over the requests that are held and match, such as "web-*"')
    .option('--pause-source', 'with --activate: pause them there first, which ends their tasks there')
    .option('--side-by-side', 'with --activate: they may run there and here at the same time')
    .option('--wait <seconds>', 'with --activate: for tasks that still run there (120)');

  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (cause) {
    reportFailure(cause);
    return 1;
  }
  return exitCode;
}

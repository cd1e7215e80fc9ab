import type { Command } from 'commander';
import { serving } from '../../../src/cli/commands/serving.js';
import { type Define, examples } from '../../../src/cli/run.js';
import type { ImportFlags } from './import-from/import-from.js';

/** Summaries for lists of commands, by the name of the command. */
export const summaries = {
  'import-history': 'copies the history of an older installation from its files',
  'import-from': 'takes what another installation has, through its API: docs/migration.md',
};

/** The commands of `muster-migrate`, which `muster` has as well. Each loads what it is made of when it runs. */
export const migrate: Record<keyof typeof summaries, Define> = {
  'import-history': (command, run) => {
    command.argument('<folder>', 'with taskHistory.csv, requestHistory.csv, deployHistory.csv, taskUsage.csv');
    serving(command, run, async (settings, _flags, [folder]) => {
      const { importHistory } = await import('./import-history/import-history.js');
      return importHistory(settings, folder!);
    });
    example(command, 'exported/');
  },
  'import-from': (command, run) => {
    command.argument('<url>', 'of the other installation');
    serving<ImportFlags>(command, run, async (settings, flags, [url]) => {
      const { importFrom } = await import('./import-from/import-from.js');
      return importFrom(settings, url!, flags);
    })
      .option('--dry-run', 'say what would be taken and what differs, and write nothing')
      .option('--no-history', 'leave out what happened: changes, deploys and ended tasks')
      .option(
        '--header <name: value>',
        'sent with every call, or @file; may be repeated',
        (one, all: string[] = []) => [...all, one],
      )
      .option('--token <token>', 'sent as Authorization: Bearer, or @file')
      .option('--concurrency <number>', 'calls at the same time (4)')
      .option('--timeout <seconds>', 'for one answer (30)')
      .option('--activate <pattern>', 'hand over the requests that are held and match, such as "web-*"')
      .option('--pause-source', 'with --activate: pause them there first, which ends their tasks there')
      .option('--side-by-side', 'with --activate: they may run there and here at the same time')
      .option('--wait <seconds>', 'with --activate: for tasks that still run there (120)');
    example(command, 'http://old-scheduler:7099/singularity --dry-run');
  },
};

const example = (command: Command, words: string): Command =>
  examples(command, `${command.parent!.name()} ${command.name()} ${words}`);

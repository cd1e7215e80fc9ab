import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { serving } from '../../../src/cli/commands/serving.js';
import { exitCodes } from '../../../src/cli/exit-codes.js';
import { writeError, writeOut } from '../../../src/cli/output/streams.js';
import { type Define, examples } from '../../../src/cli/run.js';
import type { Settings } from '../../../src/platform/settings/settings.js';
import type { ImportFlags } from './import-from/import-from.js';

/** Summaries for lists of commands, by the name of the command. */
export const summaries = {
  'import-history': 'import the history of an older installation from its files',
  'import-from':
    'import another installation through its API, or jobs of other schedulers from a file: docs/migration.md',
};

/** The commands of `muster-migrate`, which `muster` has as well. Each loads what it is made of when it runs. */
export const migrate: Record<keyof typeof summaries, Define> = {
  'import-history': (command, run) => {
    command.argument(
      '<directory>',
      'directory with taskHistory.csv, requestHistory.csv, deployHistory.csv, taskUsage.csv',
    );
    serving(command, run, async (settings, _flags, [folder]) => {
      const { importHistory } = await import('./import-history/import-history.js');
      return importHistory(settings, folder!);
    });
    example(command, 'exported/');
  },
  'import-from': (command, run) => {
    command.argument(
      '<url or file>',
      'address of the other installation; or a file of Chronos (JSON) or CronJobs (YAML)',
    );
    const work = async (settings: Settings, flags: ImportFlags, [url]: string[]): Promise<number> => {
      const { importFrom } = await import('./import-from/import-from.js');
      return importFrom(settings, url!, flags);
    };
    serving<ImportFlags>(command, run, work, async ([given]) => (isFile(given!) ? convert(given!, command) : undefined))
      .option('--dry-run', 'show what would be imported and what differs, and write nothing')
      .option('--no-history', 'leave out the history: changes, deploys and ended tasks')
      .option(
        '--header <name: value>',
        'header of every call, or @file; may be repeated',
        (one, all: string[] = []) => [...all, one],
      )
      .option('--token <token>', 'token, sent as Authorization: Bearer, or @file')
      .option('--concurrency <number>', 'number of parallel calls (4)')
      .option('--timeout <seconds>', 'time limit for each answer (30)')
      .option('--activate <pattern>', 'hand over the held requests that match, such as "web-*"')
      .option(
        '--pause-source',
        'with --activate: first pause them in the other installation, which ends their tasks there',
      )
      .option('--side-by-side', 'with --activate: allow them to run in both installations at once')
      .option('--wait <seconds>', 'with --activate: time to wait for tasks that still run there (120)');
    example(command, 'http://old-scheduler:7099/singularity --dry-run', 'chronos-jobs.json');
  },
};

/** What is no URL is a file, be it with a wrong name. */
const isFile = (given: string): boolean => given === '-' || existsSync(given) || !URL.canParse(given);

/** Jobs of other schedulers are printed as what `muster apply` takes: nothing is written, and no settings are needed. */
async function convert(file: string, command: Command): Promise<number> {
  const note = (text: string): void => void writeError(`${text}\n`);
  const stray = command.options.find((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  if (stray) {
    note(`muster: ${stray.long} is not allowed with a file: its jobs are printed, and nothing is imported`);
    return exitCodes.usage;
  }
  const { importFile } = await import('./import-files/import-files.js');
  return importFile(file, { out: writeOut, note });
}

const example = (command: Command, ...calls: string[]): Command =>
  examples(command, ...calls.map((words) => `${command.parent!.name()} ${command.name()} ${words}`));

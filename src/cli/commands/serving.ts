import { type Command, Option } from 'commander';
import type { Flags } from '../../platform/settings/load-settings.js';
import type { Settings } from '../../platform/settings/settings.js';
import type { Run } from '../run.js';

/**
 * A command that runs in this process: with the settings of a server, and all that it is made of. `alone`: words for which it needs
 * neither; it answers their exit code.
 */
export function serving<Given extends object>(
  command: Command,
  run: Run,
  work: (settings: Settings, flags: Given, words: string[]) => Promise<number>,
  alone?: (words: string[]) => Promise<number | undefined>,
): Command {
  return (
    command
      .addOption(new Option('--data-dir <directory>', 'data directory (MUSTER_DATA_DIR)'))
      .addOption(new Option('--config <file>', 'settings file, YAML or JSON (MUSTER_CONFIG)'))
      // The words after the name come first, then the flags, then the command itself.
      .action(async (...given: unknown[]) => {
        const words = given.slice(0, -2) as string[];
        const ended = await alone?.(words);
        if (ended !== undefined) {
          run.exitCode = ended;
          return;
        }
        // Before any class that is decorated.
        await import('reflect-metadata');
        const { loadSettings } = await import('../../platform/settings/load-settings.js');
        const flags = given.at(-2) as Flags & Given;
        run.exitCode = await work(loadSettings({ environment: run.environment, flags }), flags, words);
      })
  );
}

import type { Command } from 'commander';

/** One call of the program. */
export interface Run {
  /** The only look at the environment of this process is that of main.ts. */
  readonly environment: Record<string, string | undefined>;
  readonly argv: readonly string[];
  exitCode: number;
}

/** Gives a command its words, flags, examples and what it does. */
export type Define = (command: Command, run: Run) => void;

/** Shown below the help; a test runs each of them. */
export function examples(command: Command, ...lines: string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`);
}

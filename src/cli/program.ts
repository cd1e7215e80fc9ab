import { Command } from 'commander';
import { didYouMean } from '../core/did-you-mean.js';
import { commands, presentName } from './commands/index.js';
import { CliError, exitCodes } from './exit-codes.js';
import { letReadersLeave } from './output/output.js';
import { writeError, writeOut } from './output/streams.js';
import { projectFile } from './project-file.js';
import type { Run } from './run.js';
import { tellFailure } from './tell-failure.js';

/** Flags of all commands that talk with a server (`remote`), each with a value. */
const serverFlags = ['--url', '--context', '--token', '--timeout'];

/**
 * Runs one command of `muster` and answers the exit code. Of all that there is, only what the command needs is loaded: its
 * flags when it is named, what it does when it runs.
 */
export async function runCommand(
  given: readonly string[],
  environment: Record<string, string | undefined>,
): Promise<number> {
  const [name = '', ...words] = commandFirst(given);
  const argv = given.length === 0 ? [] : [presentName(name), ...words];
  const run: Run = { environment, argv, exitCode: exitCodes.done };
  try {
    refuseUndecodedWords(given);
    await programFor(run).parseAsync([...argv], { from: 'user' });
    return run.exitCode;
  } catch (cause) {
    return tellFailure(cause, argv);
  }
}

function programFor(run: Run): Command {
  const program = new Command('muster')
    .description('Starts Muster, a task scheduler, and controls a running one. Manual: docs/cli.md')
    .version((JSON.parse(projectFile('package.json')) as { version: string }).version, '-V, --version')
    .helpCommand(false)
    .exitOverride()
    .on('command:*', ([name]: string[]) => {
      throw unknownCommand(name!);
    })
    // Commander says "error: ..." and its advice on lines of their own; one line is what scripts and logs can keep.
    .configureOutput({
      outputError: (text, write) => write(oneLine(text, run.argv)),
      writeOut: (text) => {
        letReadersLeave();
        writeOut(text);
      },
      writeErr: writeError,
    });
  const define = new Map<Command, () => Promise<void>>();
  for (const { topic, summaries, load } of commands) {
    program.commandsGroup(topic);
    for (const [name, summary] of Object.entries(summaries)) {
      const command = program.command(name).description(summary);
      define.set(command, async () => {
        (await load())[name]!(command, run);
        if (takesIds(command)) command.addHelpText('after', behindDashes(name));
      });
    }
  }
  const defineAll = () => Promise.all([...define.values()].map((each) => each()));
  program.commandsGroup('This program:');
  program
    .command('help')
    .description('show help for a command, with examples')
    .argument('[words...]')
    .action(async ([given, ...words]: string[]) => {
      const name = given === undefined ? undefined : presentName(given);
      if (name !== undefined && !program.commands.some((each) => each.name() === name)) throw unknownCommand(name);
      await programFor(run).parseAsync([...(name === undefined ? [] : [name]), ...words, '--help'], { from: 'user' });
    });
  // The library names the first of them; the second is what the scripts that it prints call at each TAB.
  for (const name of ['completion', 'complete']) {
    program
      .command(name, { hidden: name === 'complete' })
      .description('print the completion script for bash, zsh, fish or powershell')
      .argument('[words...]')
      .allowUnknownOption()
      .action(async () => {
        await defineAll();
        const { complete } = await import('./commands/completion.js');
        await complete(program, run);
      });
  }
  return program.hook('preSubcommand', (_program, command) => define.get(command)?.());
}

/** Node.js has put U+FFFD in the place of bytes that are no text: what was meant is lost. */
function refuseUndecodedWords(words: readonly string[]): void {
  const word = words.find((each) => each.includes('\u{fffd}'));
  if (word !== undefined) throw new CliError('usage', `'${word}' must be text in UTF-8`);
}

/** Similar names are suggested only where few letters differ: a wrong suggestion misleads more than none. */
function unknownCommand(name: string): CliError {
  const names = commands.flatMap(({ summaries }) => Object.keys(summaries));
  const meant = didYouMean(name, names, Math.floor(name.length / 3));
  const hint = meant === undefined ? '' : `; did you mean '${meant}'?`;
  return new CliError('usage', `unknown command '${name}'${hint} (muster --help lists all)`);
}

/**
 * Flags of the server may stand before the command, as those of other programs do, before the sub-command, and after them. The parser
 * knows them after the last word alone, so that is where they are moved.
 */
function commandFirst(argv: readonly string[]): string[] {
  const [before, rest] = serverFlagsAhead(argv);
  const [command, ...others] = rest;
  if (command === undefined) return [...argv];
  const [between, words] = serverFlagsAhead(others);
  const end = words.findIndex((word) => word.startsWith('-'));
  const at = end < 0 ? words.length : end;
  return [command, ...words.slice(0, at), ...before, ...between, ...words.slice(at)];
}

/** The flags of the server that a list begins with, each with its value, and what follows them. */
function serverFlagsAhead(words: readonly string[]): [flags: readonly string[], rest: readonly string[]] {
  let at = 0;
  for (let flag = words[at]; flag !== undefined; flag = words[at]) {
    const [name, value] = flag.split('=', 2);
    if (!serverFlags.includes(name!)) break;
    at += value === undefined ? 2 : 1;
  }
  return [words.slice(0, at), words.slice(at)];
}

const takesIds = ({ registeredArguments }: Command): boolean =>
  registeredArguments.some((argument) => ['request', 'task', 'what', 'machine', 'id'].includes(argument.name()));
const behindDashes = (name: string): string => `\nWrite -- before an id that begins with -: muster ${name} -- -nightly`;

function oneLine(text: string, [name]: readonly string[]): string {
  const said = text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ');
  const topic = commands.find(({ summaries }) => name !== undefined && Object.hasOwn(summaries, name))?.topic;
  const isCommand = topic !== undefined;
  const [, flag = ''] = /^unknown option '([^=']*)/.exec(said) ?? [];
  let hint = '';
  // Ids may begin with '-', and then look like a flag.
  if (isCommand && /^-[^-]*$/.test(flag)) hint = '; write -- before an id that begins with -';
  else if (topic === 'Servers:' && serverFlags.includes(flag))
    hint = `; muster ${name} works on a data directory of this machine: --data-dir <directory>`;
  return `muster: ${said}${hint} (muster ${isCommand ? `${name} ` : ''}--help says more)\n`;
}

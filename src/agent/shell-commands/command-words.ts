import type { ShellCommandOrder } from '../../cluster/cluster-driver.js';
import type { ShellCommandSetting } from '../../platform/settings/local-settings.js';
import type { LocalClusterSettings } from '../settings.js';

/** Reason why a command cannot be run. */
export interface InvalidCommand {
  invalid: string;
}

/** The configured command that is asked for, with each of the options. */
export function findCommand(
  order: Pick<ShellCommandOrder, 'name' | 'options'>,
  configured: readonly ShellCommandSetting[],
): ShellCommandSetting | InvalidCommand {
  const found = configured.find(({ name }) => name === order.name);
  if (!found) {
    const names = configured.map(({ name }) => name).join(', ') || 'none';
    return { invalid: `Command '${order.name}' is not one of those that this agent is configured with: ${names}` };
  }
  const unknown = order.options.find((option) => !found.options.some(({ name }) => name === option));
  return unknown === undefined ? found : { invalid: `Command '${order.name}' has no option '${unknown}' here` };
}

export const isInvalid = (found: object): found is InvalidCommand => 'invalid' in found;

type WordSettings = Pick<
  LocalClusterSettings,
  'shellCommandPrefix' | 'shellCommandPidPlaceholder' | 'shellCommandUserPlaceholder'
>;

/** Prefix, what leads into a container, command, flags. A word that IS a placeholder is replaced; inside of a longer word it is plain text. */
export function commandWords(
  command: ShellCommandSetting,
  options: readonly string[],
  { pid, user }: { pid: number; user: string },
  settings: WordSettings,
  inContainer?: readonly string[],
): string[] {
  const isSkipped = command.skipCommandPrefix || (inContainer !== undefined && command.skipCommandPrefixDockerOnly);
  const prefix = isSkipped ? [] : settings.shellCommandPrefix;
  const words = [...prefix, ...(inContainer ?? []), ...command.command].map((word) => {
    if (word === settings.shellCommandPidPlaceholder) return String(pid);
    return word === settings.shellCommandUserPlaceholder ? user : word;
  });
  return [...words, ...command.options.filter(({ name }) => options.includes(name)).map(({ flag }) => flag)];
}

/** A file system takes names of 255 bytes, of which some go to what stands around it. */
const longestNameBytes = 200;
const charactersOfLongNames = 50;

/** Name of the file that the output goes to. */
export function outputFileName({ name, logfileName, timestamp }: Omit<ShellCommandOrder, 'options'>): string {
  const part = (logfileName ?? name.toLowerCase().replace(/\s/g, '-')).replaceAll(/[/\0]/g, '-');
  const fits = Buffer.byteLength(part) <= longestNameBytes;
  return `executor.commands.${fits ? part : [...part].slice(0, charactersOfLongNames).join('')}.${timestamp}.log`;
}

import { hasPassed } from '../elapsed.js';
import type { FieldError } from '../field-error.js';
import type { ShellCommandUpdateType } from '../model/enums.js';
import type { ShellCommand } from '../model/request.js';

/** A command that operators allow, as the settings have it. */
export interface ConfiguredCommand {
  name: string;
  options: readonly { name: string }[];
}

type CommandRefusal =
  /** No such command. */
  | { kind: 'UNKNOWN'; error: FieldError }
  /** The command exists, and its fields break these rules. */
  | { kind: 'INVALID'; errors: FieldError[] };

/** It becomes a part of the name of a file. */
const maxLogfileNameLength = 100;
const breaksFileName = /[/\p{Cc}]/u;

/** undefined: it may run. `field`: where the command stands in what was sent, '' for the whole of it. */
export function refuseCommand(
  command: ShellCommand,
  configured: readonly ConfiguredCommand[],
  field = '',
): CommandRefusal | undefined {
  const at = (member: string) => (field === '' ? member : `${field}.${member}`);
  const known = configured.find(({ name }) => name === command.name);
  if (!known) {
    const message = `${at('name')} '${command.name}' is not one of the configured shell commands`;
    return { kind: 'UNKNOWN', error: { field: at('name'), rule: 'known', message } };
  }
  const errors = [...unknownOptions(command, known, at), ...badLogfileName(command, at)];
  return errors.length > 0 ? { kind: 'INVALID', errors } : undefined;
}

type At = (member: string) => string;

function unknownOptions({ name, options = [] }: ShellCommand, known: ConfiguredCommand, at: At): FieldError[] {
  const errors = options.flatMap((option, index): FieldError[] => {
    const field = at(`options.${index}`);
    if (!known.options.some((each) => each.name === option))
      return [{ field, rule: 'known', message: `${field} '${option}' is not an option of the command '${name}'` }];
    if (options.indexOf(option) < index)
      return [{ field, rule: 'unique', message: `${field} '${option}' is given twice` }];
    return [];
  });
  return errors;
}

function badLogfileName({ logfileName }: ShellCommand, at: At): FieldError[] {
  if (logfileName === undefined) return [];
  const field = at('logfileName');
  if (logfileName === '' || logfileName.length > maxLogfileNameLength)
    return [{ field, rule: 'length', message: `${field} must have 1 to ${maxLogfileNameLength} characters` }];
  if (breaksFileName.test(logfileName))
    return [{ field, rule: 'pattern', message: `${field} must not contain '/' or control characters` }];
  return [];
}

/** Nothing more comes of the command: it was refused, ran to its end (however that was), or could not. */
export const isFinal = (type: ShellCommandUpdateType): boolean =>
  type === 'INVALID' || type === 'FINISHED' || type === 'FAILED';

/** The name as ids of commands carry it: it can stand in a path. */
export const safeName = (name: string): string => name.replaceAll('/', '');

/** A command that was asked for because its task is to be killed. */
export interface BeforeKillCommand {
  updates: readonly ShellCommandUpdateType[];
  /** Epoch milliseconds. */
  queuedAt: number;
}

/**
 * True when the kill waits for its command. ACKED and STARTED are not enough. A kill does not wait for a command that
 * is not there, nor for longer than the limit: a machine that does not answer must not keep its tasks indefinitely.
 */
export function holdsKill(command: BeforeKillCommand | undefined, timeoutMillis: number, now: number): boolean {
  if (!command || command.updates.some(isFinal)) return false;
  return !hasPassed(command.queuedAt, timeoutMillis, now);
}

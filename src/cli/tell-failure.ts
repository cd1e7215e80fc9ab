import { CommanderError } from 'commander';
import { beyondTasks, CliError, exitCodes, type Outcome } from './exit-codes.js';
import { plain } from '../core/terminal-text.js';
import { writeError } from './output/streams.js';

/** Says on stderr what went wrong, on one line where it is known what it was, and answers the exit code. */
export async function tellFailure(cause: unknown, [command]: readonly string[]): Promise<number> {
  const beyond = command === 'run' ? beyondTasks : 0;
  // Written where it was thrown. Asked for help, it has done what it was asked.
  if (cause instanceof CommanderError) return cause.exitCode === 0 ? exitCodes.done : exitCodes.usage + beyond;
  const told = await knownFailure(cause);
  if (told) {
    writeError(`muster: ${plain(told.message)}\n`);
    return told.outcome === 'interrupted' ? exitCodes.interrupted : exitCodes[told.outcome] + beyond;
  }
  const { reportFailure } = await import('./server/report-failure.js');
  reportFailure(cause);
  // By its name: the module of its class is a server's.
  const isSetting = cause instanceof Error && cause.name === 'SettingsError';
  return (isSetting ? exitCodes.usage : exitCodes.failed) + beyond;
}

/** A failure that people are told on one line; undefined: one of this program. */
export const knownFailure = async (cause: unknown): Promise<CliError | undefined> =>
  cause instanceof CliError ? cause : fromClient(cause);

/** Outcomes of codes whose status says something else for every other code. */
const outcomesOfCodes: Record<string, Outcome> = {
  // 403, as callers of the API expect it, and no token changes that.
  UNKNOWN_SHELL_COMMAND: 'refused',
};

/** The next step, where the command line has one. */
const adviceOfCodes: Record<string, string> = {
  RUN_ID_USED: 'choose another --run-id, or wait for that run by --attach',
  REQUEST_PAUSED: 'muster unpause resumes it',
};

const outcomes: Record<number, Outcome> = {
  401: 'denied',
  403: 'denied',
  404: 'notFound',
  408: 'unreachable',
  409: 'conflict',
  429: 'unreachable',
  502: 'unreachable',
  503: 'unreachable',
  504: 'unreachable',
};

async function fromClient(cause: unknown): Promise<CliError | undefined> {
  const { MusterError, ServiceUnreachable } = await import('muster-client');
  if (cause instanceof ServiceUnreachable) return new CliError('unreachable', cause.message, { cause });
  if ((cause as Error)?.name === 'TimeoutError')
    return new CliError('unreachable', `Muster does not answer: ${(cause as Error).message}`);
  if (!(cause instanceof MusterError)) return undefined;
  const { status, errors, message } = cause;
  // Refusals of ours have a code of ours.
  if (cause.code.startsWith('HTTP_'))
    return new CliError('failed', `${message}: is this the address of a Muster?`, { cause });
  const all = errors.length > 1 ? errors.map((each) => each.message).join('; ') : message;
  const step = status === 401 ? 'send a token by --token, MUSTER_TOKEN or a context' : adviceOfCodes[cause.code];
  const advice = step === undefined ? '' : ` (${step})`;
  const outcome = outcomesOfCodes[cause.code] ?? outcomes[status] ?? (status < 500 ? 'refused' : 'failed');
  return new CliError(outcome, `${all}${advice}`, { cause });
}

import type { ShellCommandUpdateType } from '../model/enums.js';
import { isFinal } from './command-life.js';

/** A command that was asked for because its task is to be killed. */
export interface BeforeKillCommand {
  updates: readonly ShellCommandUpdateType[];
  /** Epoch milliseconds. */
  queuedAt: number;
}

/**
 * Whether the kill waits for its command. ACKED and STARTED are not enough. Nobody waits for a command that is not there,
 * nor for longer than the limit: a machine that does not answer must not keep its tasks for ever.
 */
export function holdsKill(command: BeforeKillCommand | undefined, timeoutMillis: number, now: number): boolean {
  if (!command || command.updates.some(isFinal)) return false;
  return now - command.queuedAt <= timeoutMillis;
}

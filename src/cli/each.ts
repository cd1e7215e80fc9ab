import { CliError, exitCodes } from './exit-codes.js';
import { writeError } from './output/streams.js';
import { plain } from '../core/terminal-text.js';
import { knownFailure } from './tell-failure.js';

/**
 * Does the same for each, and goes on past what is refused for one of them: the refusals are told, and the code is that of the first.
 * What would befall the others, too, ends it: a server that is away, a token that it does not take.
 */
export async function forEach<T>(all: readonly T[], work: (one: T) => Promise<number | void>): Promise<EachResult> {
  const ended: EachResult = { code: exitCodes.done, failed: 0 };
  for (const one of all) {
    try {
      const code = (await work(one)) ?? exitCodes.done;
      ended.code ||= code;
    } catch (cause) {
      const told = await knownFailure(cause);
      if (all.length === 1 || !told || endsAll(told)) throw cause;
      writeError(`muster: ${plain(told.message)}\n`);
      ended.failed += 1;
      ended.code ||= exitCodes[told.outcome];
    }
  }
  return ended;
}

export interface EachResult {
  code: number;
  /** For how many of them it failed. */
  failed: number;
}

const endsAll = ({ outcome, cause }: CliError): boolean =>
  outcome === 'unreachable' ||
  outcome === 'interrupted' ||
  outcome === 'failed' ||
  (cause as { status?: number } | undefined)?.status === 401;

import { isIPv6 } from 'node:net';
import type { TimedQueue } from './timed-queue.js';

export interface ProbeResult {
  statusCode?: number;
  /** First bytes of the answer; absent when it was empty. */
  responseBody?: string;
  errorMessage?: string;
  /** No process listens on the port (yet). */
  refused: boolean;
  /** The task was reached, whatever it said. Absent: it was where there is a status. */
  reached?: boolean;
}

/** Characters of an error's text, which may quote what the other side sent. */
const maxErrorLength = 500;

/** A host as URLs write it. */
export const urlHost = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/**
 * Asks once within a time limit, which `timers` keeps. However it ends, the signal that `ask` gets is aborted then, and with it every
 * connection of the check, one that is still being made too. Every failure is a result, never an error.
 */
export async function withinLimit(
  timeoutMillis: number,
  signal: AbortSignal,
  timers: TimedQueue,
  ask: (ending: AbortSignal) => Promise<ProbeResult>,
): Promise<ProbeResult> {
  const ending = new AbortController();
  const tooLate = new Error(`No answer within ${timeoutMillis} ms`);
  const cancelLimit = timers.after(timeoutMillis, () => ending.abort(tooLate));
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await ask(ending.signal);
  } catch (cause) {
    return failureOf(ending.signal.reason === tooLate ? tooLate : cause);
  } finally {
    cancelLimit();
    signal.removeEventListener('abort', end);
    end();
  }
}

/** The result of a check that failed with these words. */
export const failedWith = (text: string): ProbeResult => ({
  errorMessage: text.slice(0, maxErrorLength),
  refused: false,
});

/** The result of a check that failed before there was an answer. */
export const failureOf = (cause: unknown): ProbeResult => ({
  errorMessage: messageOf(cause).slice(0, maxErrorLength),
  refused: isRefused(cause),
});

/** A name with several addresses fails with one error for each of them. */
const causesOf = (cause: unknown): { code?: string; message?: string }[] => {
  const { errors, ...own } = cause as { errors?: { code?: string }[]; code?: string; message?: string };
  return [{ code: own.code, message: (cause as Error).message }, ...(errors ?? [])];
};
const isRefused = (cause: unknown): boolean => causesOf(cause).some(({ code }) => code === 'ECONNREFUSED');
const messageOf = (cause: unknown): string =>
  causesOf(cause)
    .map(({ message, code }) => message || code)
    .find(Boolean) ?? String(cause);

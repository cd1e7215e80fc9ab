/** Exit codes by outcome; docs/cli.md has the table. A code, once given away, keeps its meaning. */
export const exitCodes = {
  /** Done as asked. */
  done: 0,
  /** The server failed, or this program did. */
  failed: 1,
  /** Wrong words, flags, files or settings: nothing was sent. */
  usage: 2,
  /** The server is not there, or is too busy to answer. */
  unreachable: 3,
  /** There is no such request, deploy, task, file, machine, ... */
  notFound: 4,
  /** A token is missing, or this one does not permit it. */
  denied: 5,
  /** The state of things is against it: paused, a deploy under way, changed meanwhile. */
  conflict: 6,
  /** The server refuses what was sent: a field, a limit. */
  refused: 7,
  /** A wait ended without the awaited result, which may still come. */
  timeout: 8,
  /** The awaited result came, and is a bad one: a deploy that failed. */
  badEnd: 9,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;
export type Outcome = keyof typeof exitCodes;

/**
 * `muster run` ends with the exit code of its task. What goes wrong without the task having one is told by these codes with
 * 100 added, so that a task's own 4 is never taken for an unknown request.
 */
export const beyondTasks = 100;

/** A failure as the person or script that called sees it: one line on stderr, and a code. */
export class CliError extends Error {
  constructor(
    readonly outcome: Outcome,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

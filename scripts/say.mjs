/** One line for the person who waits. */
export const say = (text) => process.stderr.write(`${text}\n`);

/** A reason to stop that the person at the keyboard can act on: one line, exit code 1. */
export class SetupError extends Error {}

export function failWith(cause) {
  say(cause instanceof SetupError ? `muster: ${cause.message}` : `muster: ${cause?.stack ?? cause}`);
  process.exit(1);
}

/**
 * Text of others as one line that drives no terminal: what a task prints, or an operator writes into a message, may hold sequences
 * that move the cursor, rename the window or turn the direction of writing.
 */
export const plain = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- these are what is taken out
  text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g, ' ');

// eslint-disable-next-line no-control-regex -- as above
const drives = /\u001b\[[\d;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** The same for lines of a log: ends of lines and tabs stay, and so do colours. */
export function plainLog(text: string): string {
  const shown = text.replace(drives, (one) => (one.length > 1 ? one : ''));
  // A colour that the task did not end would stay on the terminal.
  return shown.includes('\u001b[') ? `${shown.replace(/\n/g, '\u001b[0m\n')}\u001b[0m` : shown;
}

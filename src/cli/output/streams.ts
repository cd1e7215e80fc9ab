import { terminalText } from '../../core/terminal-text.js';

type Name = 'stdout' | 'stderr';
export const isTerminal = (name: Name): boolean => process[name].isTTY === true;

/** The only writes of the command line. A terminal gets what does not drive it, a pipe or a file the text as it is. */
export const writeOut = (text: string): void => write('stdout', text);
export const writeError = (text: string): void => write('stderr', text);
const write = (name: Name, text: string): void => writeBytes(name, isTerminal(name) ? terminalText(text) : text);

/** Writes bytes whatever they do to a terminal: for pipes, and readers who ask for all bytes. */
export const writeBytes = (name: Name, bytes: string | Uint8Array): void => void process[name].write(bytes);

/** A terminal that was closed must not end the program in the middle of its ordered stop. */
export function surviveClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Ends the process when all that was printed into pipes is through them. */
export async function exitWhenWritten(exitCode: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((out) => new Promise((done) => out.write('', done))));
  process.exit(exitCode);
}

/** Lines for the person at the terminal, apart from the log. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A terminal that was closed must not end the program in the middle of its ordered stop. */
export function surviveClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

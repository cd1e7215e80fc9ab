export interface Addresses {
  url: string;
  databaseUrl: string;
  dataDir: string;
}

/** What one needs to know to use what has just started. */
export function announce({ url, databaseUrl, dataDir }: Addresses): void {
  say('');
  say('Muster is ready.');
  say(`  API         ${url}/api`);
  say(`  Swagger UI  ${url}/docs`);
  say(`  Database    ${databaseUrl}   (with its password: muster database-url)`);
  say(`  Data        ${dataDir}`);
  say(`  Process id  ${process.pid}   (stop it with Ctrl-C or with: muster stop)`);
  say('');
}

/** Every caller that reaches the address may do everything: the operator has to want that. */
export function warnIfOpen(host: string, authEnabled: boolean): void {
  if (authEnabled || /^(localhost|127\..*|::1)$/.test(host)) return;
  say(
    `WARNING: it listens on ${host} and asks nobody who they are: whoever reaches it can run programs on this machine.`,
  );
}

/** Lines for the person at the terminal, apart from the log. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** A terminal that was closed must not end the program in the middle of its ordered stop. */
export function surviveClosedTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

import type { Command } from 'commander';
import type { Muster } from 'muster-client';
import { Output } from '../output/output.js';
import type { Run } from '../run.js';
import { wholeNumber } from '../words.js';
import { type Address, addressOf, type ConnectFlags } from './address.js';
import { nodeFetch } from './node-fetch.js';

/** Client and context of a command that talks with a server. */
export interface Session {
  api: Muster;
  address: Address;
  out: Output;
  run: Run;
}

type Work<F, W extends unknown[]> = (session: Session, flags: F, ...words: W) => Promise<number | void>;

/** Gives a command the flags that all have that talk with a server, and what it does. */
export function remote<F, W extends unknown[]>(command: Command, run: Run, work: Work<F, W>): Command {
  return (
    command
      .option('--json', 'print JSON, for programs')
      .optionsGroup('Server:')
      .option('--url <url>', 'address of the server (MUSTER_URL)')
      .option('--context <name>', 'server saved by muster context (MUSTER_CONTEXT)')
      .option('--token <token>', 'your token, or @file (MUSTER_TOKEN)')
      .option('--timeout <seconds>', 'time limit for each answer', '30')
      .optionsGroup('Options:')
      // The words come first, then the flags, then the command itself.
      .action(async (...given: unknown[]) => {
        const flags = given.at(-2) as F & ConnectFlags & { json?: boolean };
        const code = await work(await connect(flags, run), flags, ...(given.slice(0, -2) as W));
        if (code !== undefined) run.exitCode = code;
      })
  );
}

async function connect(flags: ConnectFlags & { json?: boolean }, run: Run): Promise<Session> {
  const seconds = wholeNumber('--timeout', flags.timeout ?? '30', 1, 3_600);
  const address = addressOf(flags, run);
  // Not for those who ask for help alone.
  const { connectMuster } = await import('muster-client');
  const api = connectMuster({
    url: address.url,
    token: address.token,
    timeoutMs: seconds * 1_000,
    fetch: nodeFetch,
  });
  return { api, address, out: new Output(flags.json ?? false), run };
}

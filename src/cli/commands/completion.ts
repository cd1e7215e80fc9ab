import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import type { Muster } from 'muster-client';
import { addressOf } from '../remote/address.js';
import { nodeFetch } from '../remote/node-fetch.js';
import type { Run } from '../run.js';

/** Prints the script for a shell, or answers it at a TAB. */
export async function complete(program: Command, run: Run): Promise<void> {
  const { Command: Fresh } = await import('commander');
  const [asked, dashes, name, ...words] = run.argv;
  const command = program.commands.find((each) => each.name() === name);
  if (asked === 'complete' && dashes === '--' && command) await offerIds(command, words, run);
  // The library adds its commands, which have the names of ours.
  const shown = new Fresh(program.name()).description(program.description());
  for (const each of program.commands) {
    if (each.name() !== 'completion' && each.name() !== 'complete') shown.addCommand(each);
  }
  tab(shown, { completionCommandName: 'completion' });
  await shown.parseAsync([...run.argv], { from: 'user' });
}

/** Longest wait for the server: who presses TAB goes on typing, and an answer that is later is not offered. */
const patienceMillis = 1_000;
const mostOffered = 500;

const requests = (api: Muster): Promise<string[]> => api.requests.ids();
const tasks = async (api: Muster): Promise<string[]> => (await api.tasks.activeIds({})).map(({ id }) => id);
const machines = async (api: Muster, words: readonly string[]): Promise<string[]> => {
  const ofRacks = words.includes('--rack') || words.includes('--racks');
  return (await (ofRacks ? api.racks.list({}) : api.slaves.list({}))).map(({ id }) => id);
};

/** Sources of words on the server, by the name of an argument in the help. */
const sources: Record<string, readonly ((api: Muster, words: readonly string[]) => Promise<string[]>)[]> = {
  request: [requests],
  pattern: [requests],
  task: [requests, tasks],
  what: [requests, tasks],
  machine: [machines],
};

async function offerIds(command: Command, words: readonly string[], run: Run): Promise<void> {
  const typed = words.at(-1) ?? '';
  if (typed.startsWith('-')) return;
  // The words are not whole yet, so that the parser of the command would refuse them.
  const flag = (name: string): string | undefined =>
    words.includes(name) ? words[words.indexOf(name) + 1] : undefined;
  try {
    const { url, token } = addressOf({ url: flag('--url'), context: flag('--context'), token: flag('--token') }, run);
    const { connectMuster } = await import('muster-client');
    const api = connectMuster({ url, token, fetch: nodeFetch, timeoutMs: patienceMillis, retries: 0 });
    for (const argument of command.registeredArguments) {
      const found = (await Promise.all((sources[argument.name()] ?? []).map((ask) => ask(api, words)))).flat();
      const offered = found.filter((id) => id.startsWith(typed)).slice(0, mostOffered);
      if (offered.length > 0) argument.choices(offered);
    }
  } catch {
    // Without a server there are commands and flags to offer.
  }
}

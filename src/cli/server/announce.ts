import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ora from 'ora';
import { isForPeople } from '../../platform/logging/log.js';
import { writeOut } from '../output/streams.js';
import { isLoopbackHost } from '../../platform/addresses.js';
import type { LogFormat } from '../../platform/settings/settings.js';

export interface Addresses {
  url: string;
  /** Path of the page, below `url`. */
  page: string;
  databaseUrl: string;
  dataDir: string;
  /** Directory that the line names which stops this instance. */
  instanceDir: string;
  /** Process ids of API workers. */
  workers: readonly number[];
  /** True if agent and tasks run on when this process stops; undefined: they are not of this process. */
  keepsTasks?: boolean;
}

/** A line that ends this very instance, pasted into any shell on this machine, whatever its folder and environment. */
function stopCommand(instanceDir: string): string {
  const program = fileURLToPath(new URL('../../../../bin/muster.mjs', import.meta.url));
  return ['node', program, 'stop', '--data-dir', resolve(instanceDir)].map(quoted).join(' ');
}
const quoted = (word: string): string =>
  /^[\w/.:@-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

const tasksStay = 'continue when this process stops, with their agent; the next start finds them';
const tasksEnd = 'end when this process stops; with --keep-tasks (agent.keepTasks) they continue';

/** Prints the addresses of what has just started. */
export function announce(addresses: Addresses): void {
  const { url, page, databaseUrl, dataDir, instanceDir, workers, keepsTasks } = addresses;
  say('');
  say('Muster is ready.');
  say(`  Dashboard   ${url}/${page}`);
  say(`  API         ${url}/api`);
  say(`  Swagger UI  ${url}/docs`);
  say(`  Database    ${databaseUrl}   (to open it: muster psql)`);
  say(`  Data        ${dataDir}`);
  say(`  Process id  ${process.pid}${workers.length > 0 ? `, API workers: ${workers.join(', ')}` : ''}`);
  if (keepsTasks !== undefined) say(`  Tasks       ${keepsTasks ? tasksStay : tasksEnd}`);
  say(`  Stop        Ctrl-C, or: ${stopCommand(instanceDir)}`);
  say('');
}

/** Every caller that reaches the address may do everything: the operator has to want that. */
export function warnIfOpen(host: string, authEnabled: boolean): void {
  if (authEnabled || isLoopbackHost(host)) return;
  say(
    `WARNING: Muster listens on ${host} without authentication: everyone who can reach it can run programs on this machine.`,
  );
}

/** Lines for the person at the terminal, apart from the log. */
export function say(line: string): void {
  writeOut(`${line}\n`);
}

/** True if long steps show on the terminal that they go on. */
let isAnimated = false;
export function animate(format: LogFormat): void {
  // Some terminals do not say how wide they are, and nothing can be drawn over on those.
  isAnimated = process.stdout.isTTY === true && process.stdout.columns > 0 && isForPeople(format);
}

/** Says what is done now; on a terminal until it is done, and how long it took. */
export async function during<T>(what: string, work: () => Promise<T>): Promise<T> {
  if (!isAnimated) {
    say(what);
    return work();
  }
  const begin = performance.now();
  // Lines that are written meanwhile appear above it. The keyboard stays with the terminal, for Ctrl-C.
  const spinner = ora({ text: what, stream: process.stdout, discardStdin: false }).start();
  try {
    const result = await work();
    spinner.succeed(`${what} (${((performance.now() - begin) / 1_000).toFixed(1)} s)`);
    return result;
  } catch (cause) {
    spinner.fail();
    throw cause;
  }
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileProblem } from '../../platform/file-problem.js';
import { CliError } from '../exit-codes.js';
import { remote, type Session } from '../remote/session.js';
import { type Define, examples } from '../run.js';
import { knownFailure } from '../tell-failure.js';
import { age } from '../words.js';

export const endpoints: Record<string, Define> = { endpoints: define };

const formats = ['nginx', 'haproxy', 'envoy', 'traefik'] as const;
type Format = (typeof formats)[number];

interface Flags {
  all?: boolean;
  format?: string;
  group?: string;
  output?: string;
  watch?: boolean;
  exec?: string;
}

/** What is to be read: these services, or all. */
interface Choice {
  requestId?: string[];
  loadBalancerGroup?: string;
}

/** Events after which endpoints may be others. */
const eventTypes = ['REQUEST', 'DEPLOY', 'TASK', 'HEALTH'] as const;
/** A task that has run for long enough turns healthy without an event. */
const readAgainMillis = 5_000;
/** A deploy has many events at once: so long after a read the next one waits. */
const leastMillis = 100;
/** A command that takes longer is ended: nothing would be written meanwhile. */
const longestExecMillis = 60_000;

function define(...[command, run]: Parameters<Define>): void {
  command
    .argument('[service...]', 'ids of services; default: all')
    .option('--all', 'show tasks that get no calls, too, and why; needs a service')
    .option('--group <name>', 'only services with this group in loadBalancerGroups')
    .option('--format <format>', `print the configuration of a proxy: ${formats.join(', ')}`)
    .option('-o, --output <file>', 'write it to a file, whole, and only if it has changed')
    .option('-w, --watch', 'go on, and write the file after each change, until Ctrl-C')
    .option('--exec <command>', 'shell command to run after the file has changed, and when --watch begins');
  examples(
    command,
    'muster endpoints',
    'muster endpoints web --all',
    'muster endpoints --format haproxy',
    `muster endpoints web --format nginx --output upstreams.conf --watch --exec 'echo changed'`,
  );
  remote<Flags, [string[]]>(command, run, async (session, flags, services) => {
    const format = checked(flags, services);
    const choice: Choice = {
      ...(services.length > 0 && { requestId: services }),
      ...(flags.group !== undefined && { loadBalancerGroup: flags.group }),
    };
    if (!format) return show(session, flags, choice);
    const read = () => session.api.services.configuration({ format: format.toUpperCase() as never, ...choice });
    if (flags.output === undefined) return session.out.log(await read());
    const file = new ProxyFile(session.out, flags.output, flags.exec, flags.watch === true);
    if (flags.watch) return follow(session, services, read, file);
    if (!(await file.bring(await read()))) throw new CliError('failed', 'the command of --exec failed');
  });
}

function checked({ all, format, group, output, watch, exec }: Flags, services: readonly string[]): Format | undefined {
  if (format === undefined && output !== undefined) throw new CliError('usage', '--output needs --format');
  if (output === undefined && (watch || exec !== undefined))
    throw new CliError('usage', '--watch and --exec need --output');
  if (all && (services.length === 0 || group !== undefined || format !== undefined))
    throw new CliError('usage', '--all needs the ids of services, without --group and --format');
  const found = formats.find((one) => one === format?.toLowerCase());
  if (format !== undefined && !found)
    throw new CliError('usage', `--format must be one of ${formats.join(', ')}, not '${format}'`);
  return found;
}

async function show({ api, out }: Session, { all }: Flags, choice: Choice): Promise<void> {
  const found = all
    ? await Promise.all((choice.requestId ?? []).map((requestId) => api.services.endpoints({ requestId, all: true })))
    : await api.services.list(choice);
  await out.answer(found, () =>
    out.table(
      ['SERVICE', 'ADDRESS', 'TASK', 'RACK', 'HEALTHY FOR', 'LEFT OUT'],
      found.flatMap(({ requestId, endpoints: served, leftOut = [] }) => [
        ...served.map(({ host, port, taskId, rackId, healthySince }) => {
          return [requestId, `${host}:${port}`, taskId, rackId, age(healthySince), ''];
        }),
        ...leftOut.map(({ host, taskId, rackId, message }) => [requestId, host, taskId, rackId, '', message]),
      ]),
    ),
  );
}

/** The file that a proxy reads, and the command that has it read again. */
class ProxyFile {
  private readonly path: string;
  /** The command has run since this was written. */
  private applied: string | undefined;

  /** `runsFirst`: the command runs though nothing has changed, because it may not have run since the last change. */
  constructor(
    private readonly out: Session['out'],
    output: string,
    private readonly exec: string | undefined,
    private readonly runsFirst: boolean,
  ) {
    this.path = resolve(output);
  }

  /** Brings the file to this text. false: the command failed, and is to be tried again. */
  async bring(text: string): Promise<boolean> {
    const hasChanged = await this.replace(text);
    if (this.exec === undefined || this.applied === text || !(hasChanged || this.runsFirst)) return true;
    const problem = await failureOf(this.exec);
    if (problem === undefined) this.applied = text;
    else this.out.note(`${this.exec}: ${problem}`);
    return problem === undefined;
  }

  private async replace(text: string): Promise<boolean> {
    const { readIfThere, writeDurably } = await import('../../platform/files.js');
    try {
      if ((await readIfThere(this.path)) === text) return false;
      await writeDurably(this.path, text, 0o644);
    } catch (cause) {
      throw new CliError('failed', `Cannot write ${this.path}: ${fileProblem(cause)}`, { cause });
    }
    this.out.note(`${this.path} has changed`);
    return true;
  }
}

/** undefined: it ended well. What it prints stands among the notes. */
async function failureOf(command: string): Promise<string | undefined> {
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', process.stderr, process.stderr], detached: true });
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), longestExecMillis);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    return code === 0 ? undefined : `ended ${code === null ? `by ${signal}` : `with code ${code}`}`;
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps the file as the services are. While they cannot be read it stays as it is: an empty one would take all out of service. */
async function follow(
  { api, out, address }: Session,
  services: readonly string[],
  read: () => Promise<string>,
  file: ProxyFile,
): Promise<void> {
  const { followEvents } = await import('muster-client');
  // A server that is away or refuses is told of at once; later it is waited for.
  await file.bring(await read());
  let change = new AbortController();
  let isAway = false;
  const onConnection = (state: 'open' | 'away'): void => {
    if (state === 'away' && !isAway) out.note(`${address.url} does not answer; retrying`);
    isAway = state === 'away';
    // Events before the connection are not told.
    if (!isAway) change.abort();
  };
  const listen = async (): Promise<void> => {
    const wish = { type: [...eventTypes], requestId: [...services] };
    for await (const _told of followEvents(api, wish, { patienceMs: Infinity, onConnection })) change.abort();
  };
  const listening = listen();
  listening.catch(() => undefined);
  let told: string | undefined;
  for (;;) {
    await Promise.race([
      listening,
      delay(readAgainMillis, undefined, { signal: change.signal }).catch(() => undefined),
    ]);
    change = new AbortController();
    try {
      await file.bring(await read());
      told = undefined;
    } catch (cause) {
      const known = await knownFailure(cause);
      if (!known) throw cause;
      if (told !== known.message) out.note(`${known.message}; the file stays as it is`);
      told = known.message;
    }
    await delay(leastMillis);
  }
}

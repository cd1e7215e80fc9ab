import { spawn } from 'node:child_process';
import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { engineVariables } from '../../agent/containers/engine-variables.js';
import { type Endpoint, readEndpoint } from '../../agent/state/agent-directory.js';
import { commandLine } from '../../agent/processes/command-line.js';
import { isAlive } from '../../agent/processes/process-identity.js';
import { AgentConnection } from '../../cluster/local/agent-connection.js';
import { backOffMillis } from '../../core/back-off.js';
import { StartError } from '../../platform/errors.js';

const program = fileURLToPath(new URL('../../agent/main.js', import.meta.url));
const startMillis = 20_000;
const stopMillis = 15_000;
const atOnceMillis = 8_000;
const lookEveryMillis = 50;
const watchEveryMillis = 500;
const longestPauseMillis = 10_000;
const askEveryMillis = 4_000;

/** A live agent that has not answered for so long, asked again and again, hangs: nothing but its end mends that. */
const hangsAfterMillis = 25_000;
const fewestQuestions = 4;

interface AgentProcessOptions {
  dataDir: string;
  /** The settings under `cluster.local`. */
  localSettings: unknown;
  say: (line: string) => void;
}

/**
 * The agent beside this scheduler, in a process of its own that outlives us. One that runs already is adopted; one that
 * dies is started again, because its tasks run on and wait for it.
 */
export class AgentProcess {
  readonly folder: string;
  private readonly stopping = new AbortController();
  private watching: Promise<void> | undefined;

  constructor(private readonly options: AgentProcessOptions) {
    this.folder = join(options.dataDir, 'agent');
  }

  async start(): Promise<void> {
    if (await this.running()) this.options.say('The agent still runs, with its tasks');
    else await this.launch();
    this.watching = Promise.all([this.watch(), this.endWhenHanging()]).then(() => undefined);
  }

  /** Tasks that run by now run on. */
  async stop(): Promise<void> {
    await this.leave();
    const agent = await this.running();
    if (!agent) return;
    process.kill(agent.pid, 'SIGTERM');
    const deadline = performance.now() + stopMillis;
    while (isAlive(agent)) {
      if (performance.now() > deadline) throw new Error(`does not end (process ${agent.pid})`);
      await delay(lookEveryMillis);
    }
  }

  /** Kills its tasks, without any grace, and ends it. */
  async stopAtOnce(): Promise<void> {
    this.stopping.abort();
    const how = { killTasks: true, graceMillis: 0 };
    const connection = new AgentConnection(this.folder);
    try {
      await connection.ask((agent) => agent.shutdown(how, { timeoutMs: atOnceMillis }));
    } finally {
      await connection.close();
    }
  }

  /** Leaves it running, from now on unwatched. */
  async leave(): Promise<void> {
    this.stopping.abort();
    await this.watching;
  }

  private async running(): Promise<Endpoint | undefined> {
    const endpoint = await readEndpoint(this.folder).catch(() => undefined);
    return endpoint && isAlive(endpoint) ? endpoint : undefined;
  }

  private async launch(): Promise<void> {
    mkdirSync(this.folder, { recursive: true, mode: 0o711 });
    const config = join(this.options.dataDir, 'agent-settings.json');
    writeFileSync(config, JSON.stringify(this.options.localSettings), { mode: 0o600 });
    chmodSync(config, 0o600);
    const logFile = join(this.options.dataDir, 'agent.log');
    const log = openSync(logFile, 'a', 0o600);
    // One of an earlier release may be open to every user.
    fchmodSync(log, 0o600);
    const child = spawn(
      process.execPath,
      [
        program,
        ...commandLine([
          ['data-dir', this.options.dataDir],
          ['config', config],
        ]),
      ],
      {
        // A session of its own: neither Ctrl-C nor our end reaches it.
        detached: true,
        stdio: ['ignore', log, log],
        env: environmentOfAgent(process.env),
        cwd: '/',
      },
    );
    closeSync(log);
    let ended = false;
    child.once('exit', () => (ended = true));
    child.once('error', () => (ended = true));
    child.unref();
    const deadline = performance.now() + startMillis;
    while (!(await this.running())) {
      if (ended || performance.now() > deadline) throw new StartError(`The agent does not start: ${lastLine(logFile)}`);
      await delay(lookEveryMillis);
    }
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopping;
    let failuresInRow = 0;
    while (!signal.aborted) {
      const pause = backOffMillis(failuresInRow + 1, watchEveryMillis, longestPauseMillis);
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted || (await this.running())) continue;
      this.options.say('The agent has died; starting it again');
      try {
        await this.launch();
        failuresInRow = 0;
      } catch (cause) {
        failuresInRow += 1;
        this.options.say(cause instanceof Error ? cause.message : String(cause));
      }
    }
  }

  /** Ends an agent that hangs, so that `watch` starts it again. Its tasks run on and wait for the next one. */
  private async endWhenHanging(): Promise<void> {
    const { signal } = this.stopping;
    const connection = new AgentConnection(this.folder);
    let silent: { pid: number; since: number; questions: number } | undefined;
    while (!signal.aborted) {
      await delay(askEveryMillis, undefined, { signal, ref: false }).catch(() => undefined);
      const agent = await this.running();
      const askedAt = performance.now();
      const isThere = agent && !signal.aborted && (await connection.answers(askEveryMillis, signal));
      if (!agent || signal.aborted || isThere) {
        silent = undefined;
        continue;
      }
      // Counted besides: after a pause of this whole machine the first question is late, not the agent.
      if (silent?.pid !== agent.pid) silent = { pid: agent.pid, since: askedAt, questions: 0 };
      silent.questions += 1;
      if (silent.questions < fewestQuestions || performance.now() - silent.since < hangsAfterMillis) continue;
      this.options.say(
        `The agent has not answered for ${hangsAfterMillis / 1_000} seconds; ending it (process ${agent.pid})`,
      );
      endNow(agent);
      silent = undefined;
    }
    await connection.close();
  }
}

function endNow(agent: Endpoint): void {
  try {
    if (isAlive(agent)) process.kill(agent.pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

/**
 * Variables for Node.js and downloads; those that lead to an engine come besides. The address of the database and the
 * like are none of the agent's business.
 */
const passedOn =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|NODE_\w+|SSL_CERT_\w+|UV_\w+|AWS_\w+|(https?|no|all)_proxy)$/i;

export const environmentOfAgent = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => passedOn.test(name) || engineVariables.includes(name)),
  );

function lastLine(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) || `see ${path}`;
}

import { constants as machine } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { backOffMillis } from '../../core/back-off.js';
import type { AgentContext } from '../agent-context.js';
import { groupOfProcess, TaskGroup } from '../cgroups/cgroups.js';
import type { GroupUsage } from '../cgroups/group-files.js';
import { saysOutOfMemory } from '../cgroups/kernel-log.js';
import { readIfThere } from '../../platform/files.js';
import { withSignal } from '../../platform/async.js';
import { isAlive, type ProcessIdentity, readStat } from '../processes/process-identity.js';
import { signal } from '../processes/processes.js';
import { commandLine, type Option } from '../processes/command-line.js';
import type { TaskDirectory } from '../state/task-directory.js';
import { askEngine, EngineFailure, type EngineWatch } from './engine.js';

/** State of a container as an engine reports it, in the words of `{{json .State}}` and around it. */
const State = z.object({
  Running: z.boolean().optional(),
  Status: z.string().optional(),
  Pid: z.number().optional(),
  ExitCode: z.number().optional(),
  OOMKilled: z.boolean().optional(),
});
type State = z.infer<typeof State>;

/** One line each; the script that runs the container asks for these when it has ended. */
export const endFormat = '{{json .State}}\n{{.Id}}';
const wholeFormat = `${endFormat}\n{{.Config.StopSignal}}\n{{json .Mounts}}\n{{json .GraphDriver.Data}}`;

const Mounts = z.array(z.object({ Type: z.string(), Name: z.string().optional(), Source: z.string().optional() }));

/** As a container is removed, with the volumes that only it has. */
export const removal: readonly Option[] = [
  ['force', true],
  ['volumes', true],
];

/** Time limit for calls that an engine usually answers immediately. */
const shortMillis = 10_000;
const firstPauseMillis = 100;
const lastPauseMillis = 1_000;
const checkMillis = 1_000;

/** After the end of its first process an engine has so long to say so. */
const patienceMillis = 30_000;

/** The container of one task: known by its name, whichever agent has created it. */
export class TaskContainer {
  readonly group = new ContainerGroup();
  /** Its first process, once that has been seen. */
  main: ProcessIdentity | undefined;
  private stopSignal: NodeJS.Signals = 'SIGTERM';
  /** Known directories beside its sandbox that it may write to and that count for its disk. */
  readonly directories = new Set<string>();

  constructor(
    private readonly context: Pick<AgentContext, 'settings' | 'stopping'> & { engines: EngineWatch },
    readonly name: string,
    private readonly sandbox: string,
    private readonly directory: TaskDirectory,
    /** Named by the deploy; absent: its image says it. */
    private readonly killSignal?: NodeJS.Signals,
  ) {}

  get mainPid(): number | undefined {
    return this.main && isAlive(this.main) ? this.main.pid : undefined;
  }

  /** Waits until it runs. ENDED: it has, or `over` aborts. LATE: it did not begin in the time of one command of the engine. */
  async whenRunning(over: AbortSignal): Promise<'RUNNING' | 'ENDED' | 'LATE'> {
    const late = performance.now() + this.context.settings.containers.dockerClientTimeLimitSeconds * 1_000;
    for (let checks = 1; !over.aborted; checks++) {
      const state = await this.check(over).catch(() => undefined);
      if (state?.Running && this.main) return 'RUNNING';
      if (state?.Status === 'exited') return 'ENDED';
      if (performance.now() >= late) return 'LATE';
      await delay(backOffMillis(checks, firstPauseMillis, lastPauseMillis), undefined, { signal: over }).catch(
        () => undefined,
      );
    }
    return 'ENDED';
  }

  /** Resolves when its first process has gone and its engine has not said so for long, or when `over` aborts. */
  async whenForgotten(over: AbortSignal): Promise<boolean> {
    for (let goneAt: number | undefined; !over.aborted;) {
      if (this.mainPid === undefined) goneAt ??= performance.now();
      if (goneAt !== undefined && performance.now() - goneAt > patienceMillis) return true;
      await delay(checkMillis, undefined, { signal: over, ref: false }).catch(() => undefined);
    }
    return false;
  }

  /** The signal of the deploy, or that by which its image wants to be stopped, SIGTERM where neither says so. */
  askToStop(): void {
    const asked = this.killSignal ?? this.stopSignal;
    if (this.main && signal(this.main, asked)) return;
    void this.ask(['kill', ...commandLine([['signal', asked]], [this.name])]).catch(() => undefined);
  }

  /** SIGKILL to every process in it. The engine, which may hang, is not needed for that. */
  endByForce(): void {
    this.group.killAll();
    for (const pid of this.group.pids()) {
      const found = readStat(pid);
      if (found) signal(found, 'SIGKILL');
    }
    // With the first process the kernel ends all others in its namespace.
    if (this.main) signal(this.main, 'SIGKILL');
  }

  /** Pids of its processes. */
  pids(): number[] {
    const { mainPid } = this;
    return [...new Set([...this.group.pids(), ...(mainPid === undefined ? [] : [mainPid])])];
  }

  /**
   * End of the container, as its engine reported it to the script, or reports it now if the script could not write it
   * down; {}: it did not end.
   */
  async end(): Promise<{ exitCode?: number; outOfMemory?: boolean }> {
    const inspect = () => this.ask(['container', 'inspect', ...commandLine([['format', endFormat]], [this.name])]);
    const reported = await readIfThere(join(this.directory.path, endFile));
    const text = reported ?? (await inspect().catch(() => ''));
    const [line = '', id = ''] = text.split('\n');
    const state = State.safeParse(parsed(line)).data;
    if (state?.Status !== 'exited' && state?.Status !== 'stopped') return {};
    // Not every engine sees it of what ends at once.
    const outOfMemory = state.OOMKilled || (isContainerId(id) && saysOutOfMemory(id));
    return { exitCode: state.ExitCode, outOfMemory };
  }

  /** Ends and removes it, where it is still there. False: whether it has is not known. */
  async remove(): Promise<boolean> {
    try {
      await this.ask(['rm', ...commandLine(removal, [this.name])]);
      return true;
    } catch (cause) {
      if (cause instanceof EngineFailure && /no such|no container/i.test(cause.message)) return true;
      this.context.engines.noteLeftBehind();
      return false;
    }
  }

  /** Words that run a command beside its first process. */
  async execWords(variables: readonly string[]): Promise<string[]> {
    const engine = await this.context.engines.engine();
    if (typeof engine === 'string') throw new Error(engine);
    const options = variables.map((variable): Option => ['env', variable]);
    return [...engine.words, 'exec', ...commandLine(options, [this.name])];
  }

  private async check(over: AbortSignal): Promise<State | undefined> {
    const inspect = ['container', 'inspect', ...commandLine([['format', wholeFormat]], [this.name])];
    const answer = await this.ask(inspect, over);
    const [line = '', id = '', stop = '', mounts = '', ...data] = answer.split('\n');
    const state = State.safeParse(parsed(line)).data;
    this.stopSignal = signalNamed(stop) ?? this.stopSignal;
    const { UpperDir } = (parsed(data.join('')) ?? {}) as { UpperDir?: unknown };
    if (typeof UpperDir === 'string' && UpperDir.startsWith('/')) this.directories.add(UpperDir);
    for (const { Type, Name = '', Source = '' } of Mounts.safeParse(parsed(mounts)).data ?? [])
      if (Type === 'volume' && isOfContainer(Name) && Source.startsWith('/')) this.directories.add(Source);
    if (state?.Running && state.Pid) this.attach(state.Pid, id);
    return state;
  }

  private attach(pid: number, id: string): void {
    const found = readStat(pid);
    if (!found || !isContainerId(id)) return;
    this.main = { pid, startTime: found.startTime };
    this.group.is(groupOfProcess(pid, id));
  }

  private async ask(command: readonly string[], over?: AbortSignal): Promise<string> {
    const engine = await this.context.engines.engine();
    if (typeof engine === 'string') throw new Error(engine);
    return withSignal([this.context.stopping, over], (signal) =>
      askEngine(engine, command, { timeoutMillis: shortMillis, signal, sandbox: this.sandbox }),
    );
  }
}

/** A volume without a name that anybody gave it goes with its container. */
const isOfContainer = (volume: string): boolean => /^[0-9a-f]{64}$/.test(volume);

const isContainerId = (text: string): boolean => /^[0-9a-f]{12,64}$/.test(text);

/** In the task's control directory. */
export const endFile = 'container.end';

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Engines say "SIGQUIT", "QUIT" or 3. */
function signalNamed(text: string): NodeJS.Signals | undefined {
  const word = text.trim();
  const named = /^\d+$/.test(word)
    ? Object.entries(machine.signals).find(([, number]) => number === Number(word))?.[0]
    : word && (word.startsWith('SIG') ? word : `SIG${word}`);
  return named && named in machine.signals ? (named as NodeJS.Signals) : undefined;
}

/** The cgroups of a container: its engine makes and removes them. Nothing is known of them before it runs. */
export class ContainerGroup extends TaskGroup {
  private found: TaskGroup | undefined;
  private kills = 0;

  constructor() {
    super([]);
  }

  is(group: TaskGroup | undefined): void {
    this.found = group;
  }

  override pids(): number[] {
    return this.found?.pids() ?? [];
  }

  override killAll(): void {
    this.found?.killAll();
  }

  /** Stores the last count: the metrics go with the container. */
  override outOfMemoryKills(): number {
    return (this.kills = Math.max(this.kills, this.found?.outOfMemoryKills() ?? 0));
  }

  override usage(): GroupUsage {
    return this.found?.usage() ?? {};
  }

  override async remove(): Promise<void> {
    // The engine's.
  }
}

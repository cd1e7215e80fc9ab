import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import { withSignal } from '../../platform/async.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import type { EndFacts } from './outcome.js';
import { isAlive, type ProcessIdentity } from '../processes/process-identity.js';
import { processesOf, signal, type TaskMark } from '../processes/processes.js';
import type { SavedKill, TaskDirectory } from '../state/task-directory.js';
import type { TaskProcesses } from './task-processes.js';
import { SignalRecord } from '../state/signal-record.js';

interface KilledTask {
  directory: Pick<TaskDirectory, 'saveKill'>;
  processes: Pick<TaskProcesses, 'shim' | 'preparing' | 'over'>;
  reports: { readonly state: TaskState };
}

/** The kill of one task: what was asked for, on disk so that it goes on after a restart of the agent, and its execution. */
export class TaskKill {
  private record: SavedKill | undefined;
  /** On the clock of performance.now, which is never set back. */
  private deadline = Infinity;
  private sweeping: Promise<void> | undefined;
  /** Ends what is done before the task is signalled. */
  private readonly hurry = new AbortController();
  private readonly force = new AbortController();

  constructor(
    private readonly task: KilledTask,
    private readonly killer: Sweeper,
    /** Done before the task is signalled, unless that is by force. Ends early when it is told to. */
    private readonly preStop?: (signal: AbortSignal) => Promise<void>,
  ) {}

  get isAsked(): boolean {
    return this.record !== undefined;
  }

  /** Time of SIGKILL, on the clock of performance.now; Infinity: no kill was asked for. */
  get endsAt(): number {
    return this.deadline;
  }

  /** Aborted when somebody, not the agent, has asked for a kill without any grace. */
  get byForce(): AbortSignal {
    return this.force.signal;
  }

  /** Takes effect at once; resolves when it would survive a restart of the agent. Asked again, it may only shorten the grace. */
  async request(graceMillis: number, because?: SavedKill['because']): Promise<void> {
    const { processes, reports } = this.task;
    if (isTerminal(reports.state)) return;
    const saved = this.save(graceMillis, because);
    processes.preparing.abort();
    if (processes.shim) this.begin();
    await saved;
  }

  private async save(graceMillis: number, because: SavedKill['because']): Promise<void> {
    // A kill with no longer grace is under way already.
    if (this.record && performance.now() + graceMillis >= this.deadline) return;
    const now = Date.now();
    const askedAt = this.record?.askedAt ?? now;
    // A kill that was asked for stays one, whatever shortens it.
    const reason = this.record ? this.record.because : because;
    const record = { because: reason, askedAt, graceMillis, deadline: now + graceMillis };
    this.take(record, now);
    await this.task.directory.saveKill(record);
  }

  /** Goes on with a kill that is on disk. What an earlier agent did before it signalled is not done again. */
  restore(record: SavedKill, now: number): void {
    this.hurry.abort();
    this.take(record, now);
  }

  private take(record: SavedKill, now: number): void {
    if (record.graceMillis === 0) this.hurry.abort();
    if (record.graceMillis === 0 && !record.because) this.force.abort();
    this.record = record;
    // A clock that was set back must not make the wait longer than it was meant to be.
    const left = Math.min(record.graceMillis, record.deadline - now);
    this.deadline = performance.now() + Math.max(0, left);
  }

  /** Signals the task's processes until its shim has gone. Asked again, it does nothing. */
  begin(): void {
    this.sweeping ??= this.prepareAndSweep();
  }

  private async prepareAndSweep(): Promise<void> {
    const over = this.task.processes.over.signal;
    if (this.preStop && !over.aborted && !this.hurry.signal.aborted) {
      // The deadline may be shortened meanwhile.
      const hurried = setInterval(() => performance.now() >= this.deadline && this.hurry.abort(), sweepEveryMillis);
      await withSignal([over, this.hurry.signal], this.preStop).finally(() => clearInterval(hurried));
    }
    await this.killer.sweepUntil(over, () => this.deadline);
  }

  /**
   * Ends what a task has left behind: at once, or with the rest of the grace if it was killed. False: a process hangs
   * in the kernel.
   */
  async endLeftovers(): Promise<boolean> {
    await this.sweeping;
    return this.killer.sweepUntilEmpty(() => (this.record ? this.deadline : 0));
  }

  async endByForce(): Promise<void> {
    await this.killer.sweepUntilEmpty(() => 0);
  }

  facts(now: number): Pick<EndFacts, 'kill' | keyof NonNullable<SavedKill['because']>> {
    if (!this.record) return {};
    const { askedAt, graceMillis, because } = this.record;
    const tookMillis = Math.max(0, now - askedAt);
    return { ...because, kill: { graceMillis, tookMillis, forced: this.killer.forced } };
  }
}

/** Port that ends the processes of a task. */
export interface Sweeper {
  /** SIGKILL was needed. */
  readonly forced: boolean;
  /** Sweeps until `stop` aborts. `deadline` (on the clock of performance.now) is asked each time, for it may be shortened. */
  sweepUntil(stop: AbortSignal, deadline: () => number): Promise<void>;
  /** Sweeps until nothing is left. False: something cannot be killed. */
  sweepUntilEmpty(deadline: () => number): Promise<boolean>;
}

const sweepEveryMillis = 100;
const firstPauseMillis = 2;

/** A process that SIGKILL does not end hangs in the kernel; its task is reported as ended all the same after this. */
const giveUpAfterMillis = 30_000;

/** The task of a killer, as it is at each moment. */
export interface KillTarget {
  mark(): TaskMark;
  /** The task's own program; undefined while it has not begun. */
  main(): ProcessIdentity | undefined;
  group: Pick<TaskGroup, 'killAll'>;
  signal: NodeJS.Signals;
}

/**
 * Ends the processes of one task: a signal to each, SIGTERM unless its deploy names another one, SIGKILL to what is left at the deadline. The shim is spared, since it
 * has the exit status to write; that is also why the process group is never signalled.
 */
export class Killer implements Sweeper {
  forced = false;
  private readonly asked: SignalRecord;
  private isStartDecided = false;

  constructor(
    private readonly target: KillTarget,
    private readonly directory: Pick<TaskDirectory, 'noteAsked' | 'readAsked' | 'forbidStart'>,
  ) {
    this.asked = new SignalRecord(directory);
  }

  async sweepUntil(stop: AbortSignal, deadline: () => number): Promise<void> {
    while (!stop.aborted) {
      const byForce = performance.now() >= deadline();
      if (byForce || this.target.main() || !(await this.decideStart())) this.trySweep(byForce);
      const untilDeadline = deadline() - performance.now();
      const pause = untilDeadline > 0 ? Math.min(sweepEveryMillis, untilDeadline) : sweepEveryMillis;
      await delay(pause, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  async sweepUntilEmpty(deadline: () => number): Promise<boolean> {
    const begun = performance.now();
    for (let checks = 1; ; checks++) {
      if (this.trySweep(performance.now() >= deadline()) === 0) return true;
      if (performance.now() >= Math.max(begun, deadline()) + giveUpAfterMillis) return false;
      await delay(backOffMillis(checks, firstPauseMillis, sweepEveryMillis));
    }
  }

  /**
   * A copy of the shim that has yet to begin the program loses a signal that comes in the moment of its fork. So it is not asked to
   * end: it may not begin. True: it will not, or it has just begun and says who it is.
   */
  private async decideStart(): Promise<boolean> {
    try {
      if (!this.isStartDecided) await this.directory.forbidStart();
      this.isStartDecided = true;
    } catch {
      // A full disk, say.
    }
    return this.isStartDecided;
  }

  /** A look that fails, for want of free file descriptors say, says nothing and is repeated. */
  private trySweep(byForce: boolean): number | undefined {
    try {
      return this.sweep(byForce);
    } catch {
      return undefined;
    }
  }

  /** One look at the task's processes, and a signal to those that are due one. Answers how many there were. */
  private sweep(byForce: boolean): number {
    const processes = processesOf(this.target.mark());
    if (byForce && processes.length > 0) {
      this.forced = true;
      this.target.group.killAll();
      for (const found of processes) signal(found, 'SIGKILL');
    } else {
      const main = this.target.main();
      // Once the program knows, what it starts is its own business (a clean-up script, say) until it has ended itself.
      const spareNewOnes = main !== undefined && this.asked.has(nameOf(main)) && isAlive(main);
      for (const found of processes)
        if (!spareNewOnes) this.asked.once(nameOf(found), () => signal(found, this.target.signal));
    }
    return processes.length;
  }
}

const nameOf = ({ pid, startTime }: ProcessIdentity): string => `${pid} ${startTime}`;

import { Killer, type Target } from './kill.js';
import type { EndFacts } from './outcome.js';
import type { SavedKill, TaskFolder } from './task-folder.js';

/** The kill of one task: what was asked for, on disk so that it goes on after a restart of the agent, and its execution. */
export class TaskKill {
  private record: SavedKill | undefined;
  /** On the clock of performance.now, which nobody sets back. */
  private deadline = Infinity;
  private readonly killer: Killer;
  private sweeping: Promise<void> | undefined;

  constructor(
    private readonly folder: TaskFolder,
    target: Target,
  ) {
    this.killer = new Killer(target);
  }

  get isAsked(): boolean {
    return this.record !== undefined;
  }

  /** Takes effect at once; resolves when it is on disk. False: a kill with no longer grace is under way already. */
  async ask(graceMillis: number, because?: SavedKill['because']): Promise<boolean> {
    if (this.record && performance.now() + graceMillis >= this.deadline) return false;
    const now = Date.now();
    const askedAt = this.record?.askedAt ?? now;
    const record = { because: this.record?.because ?? because, askedAt, graceMillis, deadline: now + graceMillis };
    this.takeUp(record, now);
    await this.folder.saveKill(record);
    return true;
  }

  /** Goes on with a kill that is on disk. */
  takeUp(record: SavedKill, now: number): void {
    this.record = record;
    // A clock that was set back must not make the wait longer than it was meant to be.
    const left = Math.min(record.graceMillis, record.deadline - now);
    this.deadline = performance.now() + Math.max(0, left);
  }

  /** Signals the task's processes until `over` aborts. Asked again, it does nothing. */
  begin(over: AbortSignal): void {
    this.sweeping ??= this.killer.sweepUntil(over, () => this.deadline);
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

  facts(now: number): Pick<EndFacts, 'kill' | 'threads' | 'healthFileMissingAfterSeconds'> {
    if (!this.record) return {};
    const { askedAt, graceMillis, because } = this.record;
    const tookMillis = Math.max(0, now - askedAt);
    return { ...because, kill: { graceMillis, tookMillis, forced: this.killer.forced } };
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import type { ProcessStat } from '../processes/process-identity.js';
import { signal } from '../processes/processes.js';
import { SignalRecord } from '../state/signal-record.js';
import type { TaskContainer } from './task-container.js';

const checkEveryMillis = 100;
const firstPauseMillis = 2;

/** The engine's own processes get so long to write down how a container ended, and to tidy up. */
const patienceMillis = 3_000;

/** A process that SIGKILL does not end within this time hangs in the kernel. */
const giveUpAfterMillis = 30_000;

/**
 * Ends a container: asked once, by the signal that its image names; by force at the deadline. The programs of the engine are
 * spared, since they have the exit status to tell, until they hang.
 */
export class ContainerKiller {
  /** SIGKILL was needed. */
  forced = false;
  private readonly asked: SignalRecord;

  constructor(
    private readonly container: TaskContainer,
    /** Programs of the engine that work for the task. */
    private readonly helpers: () => ProcessStat[],
    directory: ConstructorParameters<typeof SignalRecord>[0],
  ) {
    this.asked = new SignalRecord(directory);
  }

  async sweepUntil(stop: AbortSignal, deadline: () => number): Promise<void> {
    while (!stop.aborted) {
      if (performance.now() >= deadline()) this.force(deadline());
      else this.ask();
      const pause = Math.max(1, Math.min(checkEveryMillis, Math.abs(deadline() - performance.now())));
      await delay(pause, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  async sweepUntilEmpty(deadline: () => number): Promise<boolean> {
    const begun = performance.now();
    for (let checks = 1; ; checks++) {
      const left = this.check();
      if (left === 0) return true;
      const due = Math.max(begun, deadline());
      if (performance.now() >= due) this.force(due);
      else this.ask();
      if (performance.now() >= due + giveUpAfterMillis) return false;
      await delay(backOffMillis(checks, firstPauseMillis, checkEveryMillis));
    }
  }

  /** Nothing can be asked before it runs. */
  private ask(): void {
    if (this.container.mainPid === undefined) return;
    this.asked.once(this.container.name, () => this.container.askToStop());
  }

  /** `since`: when force was first due, on the clock of performance.now. */
  private force(since: number): void {
    if (this.container.pids().length > 0) {
      this.forced = true;
      this.container.endByForce();
    }
    if (performance.now() < since + patienceMillis) return;
    for (const helper of this.helpersNow()) signal(helper, 'SIGKILL');
  }

  private check(): number {
    return this.container.pids().length + this.helpersNow().length;
  }

  /** A look that fails, for want of free file descriptors say, is repeated. */
  private helpersNow(): ProcessStat[] {
    try {
      return this.helpers();
    } catch {
      return [];
    }
  }
}

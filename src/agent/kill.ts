import { setTimeout as delay } from 'node:timers/promises';
import type { TaskGroup } from './cgroups/cgroups.js';
import { isAlive, type ProcessIdentity, type ProcessStat } from './process-identity.js';
import { processesOf, signal, type TaskMark } from './processes.js';

const sweepEveryMillis = 100;
const firstPauseMillis = 2;
/** A process that SIGKILL does not end hangs in the kernel; its task is reported as ended all the same after this. */
const giveUpAfterMillis = 30_000;

/** What a killer needs to know about its task at each moment. */
export interface Target {
  mark(): TaskMark;
  /** The task's own program; undefined while it has not begun. */
  main(): ProcessIdentity | undefined;
  group: TaskGroup;
}

/**
 * Ends the processes of one task: SIGTERM to each, SIGKILL to what is left at the deadline. The shim is spared, since it
 * has the exit status to write; that is also why the process group is never signalled.
 */
export class Killer {
  /** SIGKILL was needed. */
  forced = false;
  private readonly asked = new Set<string>();
  private mainWasAsked = false;

  constructor(private readonly target: Target) {}

  /** Sweeps until `stop` aborts. `deadline` (on the clock of performance.now) is asked each time, for it may be shortened. */
  async sweepUntil(stop: AbortSignal, deadline: () => number): Promise<void> {
    while (!stop.aborted) {
      this.trySweep(performance.now() >= deadline());
      const untilDeadline = deadline() - performance.now();
      const pause = untilDeadline > 0 ? Math.min(sweepEveryMillis, untilDeadline) : sweepEveryMillis;
      await delay(pause, undefined, { signal: stop }).catch(() => undefined);
    }
  }

  /** Sweeps until nothing is left. False: something cannot be killed. */
  async sweepUntilEmpty(deadline: () => number): Promise<boolean> {
    const begun = performance.now();
    for (let pauseMillis = firstPauseMillis; ; pauseMillis = Math.min(pauseMillis * 2, sweepEveryMillis)) {
      if (this.trySweep(performance.now() >= deadline()) === 0) return true;
      if (performance.now() >= Math.max(begun, deadline()) + giveUpAfterMillis) return false;
      await delay(pauseMillis);
    }
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
      const spareNewOnes = this.mainWasAsked && main !== undefined && isAlive(main);
      for (const found of processes) if (!spareNewOnes) this.ask(found, main);
    }
    return processes.length;
  }

  /** Once per process: many programs take a second SIGTERM as an order to give up their orderly end. */
  private ask(found: ProcessStat, main: ProcessIdentity | undefined): void {
    const name = `${found.pid} ${found.startTime}`;
    if (this.asked.has(name)) return;
    this.asked.add(name);
    signal(found, 'SIGTERM');
    if (main && found.pid === main.pid) this.mainWasAsked = true;
  }
}

import { Injectable, Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Clock } from '../clock.js';
import { Leadership } from '../leadership/leadership.js';
import { Wake, type WakeTopic } from '../wake/wake.js';
import { Poller } from './poller.js';

export interface PollerOptions {
  name: string;
  /** Milliseconds between the end of one pass and the start of the next. Below 1: only when woken. */
  everyMs: number;
  /**
   * One pass. Must be safe to repeat: it may run again right after a crash. It may answer a moment (epoch milliseconds)
   * at which it wants to run again, for what is due at a time of its own; the newest answer counts.
   */
  pass: (now: number) => Promise<number | undefined | void>;
  /** Runs on instances that do not lead as well. */
  onEveryInstance?: boolean;
  /** Topics that make a pass run at once. */
  wakeOn?: WakeTopic[];
}

/** Registers the pollers of all rooms. They run on the leader only unless they say otherwise, each under its name in the SchedulerRegistry. */
@Injectable()
export class Pollers {
  private readonly log = new Logger(Pollers.name);
  private readonly pollers = new Map<string, Poller>();

  constructor(
    private readonly registry: SchedulerRegistry,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly leadership: Leadership,
  ) {}

  register(options: PollerOptions): Poller {
    const poller = new Poller(options, {
      now: () => this.clock.now(),
      mayRun: () => options.onEveryInstance === true || this.leadership.ready(),
      failed: (cause) => this.log.error(`Poller '${options.name}' failed; it runs again: ${String(cause)}`, cause),
    });
    this.pollers.set(options.name, poller);
    this.registry.addCronJob(options.name, poller.job);
    for (const topic of options.wakeOn ?? []) this.wake.on(topic, () => poller.wake());
    poller.job.start();
    return poller;
  }

  /** Stops all timers and waits for the passes in flight. */
  async stop(): Promise<void> {
    await Promise.all([...this.pollers.values()].map((poller) => poller.stop()));
  }

  /** State of each poller, for /readyz: failures in a row and the last error. */
  states(): { name: string; failuresInRow: number; lastError?: string }[] {
    return [...this.pollers.values()].map((poller) => poller.state());
  }
}

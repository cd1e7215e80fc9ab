import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { ActionType } from '../../core/model/enums.js';
import { DisabledActions } from '../actions/disabled-actions.js';
import { Clock } from '../clock.js';
import { Leadership } from '../leadership/leadership.js';
import { Wake } from '../wake/wake.js';
import { Poller, type PollerState, type PollerOptions } from './poller.js';
import { tellFailure } from '../tell-failure.js';

/** By the monotonic clock: a cron expression would stand still for as long as the clock of this machine is set back. */
const tickMillis = 1_000;

/** The pollers of all rooms, on one timer. They run on the leader only unless they say otherwise. */
@Injectable()
export class Pollers {
  private readonly log = new Logger(Pollers.name);
  private readonly pollers = new Map<string, Poller>();
  /** By name: the disabled action for which its last pass was left out. */
  private readonly standing = new Map<string, ActionType>();

  constructor(
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly leadership: Leadership,
    private readonly actions: DisabledActions,
  ) {}

  register(options: PollerOptions): Poller {
    const { runsWhile } = options;
    const pass = runsWhile ? this.unlessDisabled(runsWhile, options) : options.pass;
    const poller = new Poller(
      { ...options, pass },
      {
        now: () => this.clock.now(),
        mayRun: () =>
          options.onEveryInstance === true
            ? this.leadership.standing().newerSchema === undefined
            : this.leadership.ready(),
        failed: (cause) => tellFailure(this.log, `Poller '${options.name}' failed; it runs again`, cause),
      },
    );
    this.pollers.set(options.name, poller);
    const topics = [...(options.wakeOn ?? []), ...(runsWhile ? (['actions'] as const) : [])];
    for (const topic of topics) this.wake.on(topic, (keys) => poller.wake(keys));
    return poller;
  }

  /** Begins the passes that are due and waits for none of them. */
  @Interval('pollers', tickMillis)
  tick(): void {
    for (const poller of this.pollers.values()) poller.tick();
  }

  private unlessDisabled(action: ActionType, { name, pass }: PollerOptions): PollerOptions['pass'] {
    return async (now, keys) => {
      if (await this.actions.isDisabled(action)) {
        this.standing.set(name, action);
        return undefined;
      }
      this.standing.delete(name);
      return pass(now, keys);
    };
  }

  /** No new pass; resolves when those in flight have ended. */
  async stop(): Promise<void> {
    await Promise.all([...this.pollers.values()].map((poller) => poller.stop()));
  }

  /** Pollers that stand still because their action is disabled, for /readyz. */
  disabled(): { name: string; action: ActionType }[] {
    return [...this.standing].map(([name, action]) => ({ name, action }));
  }

  /** Passes of each poller since the start, and how many of them failed. */
  figures(): { name: string; passes: number; failures: number }[] {
    return [...this.pollers.values()].map((poller) => poller.figures());
  }

  /** State of each poller, for /readyz. */
  states(): PollerState[] {
    return [...this.pollers.values()].map((poller) => poller.state());
  }
}

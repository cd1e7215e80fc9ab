import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { ActionType } from '../../core/model/enums.js';
import { DisabledActions } from '../actions/disabled-actions.js';
import { Clock } from '../clock.js';
import { Leadership } from '../leadership/leadership.js';
import { Wake, type WakeTopic } from '../wake/wake.js';
import { Poller, type PollerState } from './poller.js';
import { tellFailure } from '../tell-failure.js';

export interface PollerOptions {
  /** Words in small letters with hyphens between them: so it stands in metrics, /readyz, the log and docs/settings.md. */
  name: string;
  /** Milliseconds between the end of one pass and the start of the next. Below 1: only when woken. */
  everyMs: number;
  /**
   * One pass. Must be safe to repeat: it may run again right after a crash. It may answer a moment (epoch milliseconds)
   * at which it wants to run again, for what is due at a time of its own; the newest answer counts. `keys`: look only at these,
   * and at what is due at a time of its own; undefined: at everything.
   */
  pass: (now: number, keys?: ReadonlySet<string>) => Promise<number | undefined | void>;
  /** The pass heeds `keys`. Others always look at everything. */
  takesKeys?: boolean;
  /** Runs on instances that do not lead as well, while they know the schema. */
  onEveryInstance?: boolean;
  /** The service does not do its work without it: while it keeps failing, /readyz says that this instance is not ready. */
  essential?: boolean;
  /** Topics that make a pass run at once. */
  wakeOn?: WakeTopic[];
  /** While operators have switched this action off, no pass runs. When it comes back, one runs at once. */
  runsWhile?: ActionType;
}

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

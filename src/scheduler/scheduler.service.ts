import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import { Pollers } from '../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../platform/settings/settings.js';
import { KillDispatcher } from './dispatch/kill-dispatcher.service.js';
import { LaunchDispatcher } from './dispatch/launch-dispatcher.service.js';
import { DrainService } from './drain/drain.service.js';
import { FlowReleases } from './flows/flow-releases.service.js';
import { UnaskedMachines } from './memory/unasked-machines.js';
import { PlacementService } from './placement/placement.service.js';

/** Interval between checks of unanswered launches and kills; new ones are sent at once. */
const dispatchEveryMillis = 1_000;
/**
 * Delay before requests that another transaction held are checked again. Timers of pollers tick together: one that is
 * held by another poller now would be held by it at the next tick, too.
 */
const heldRequestsMillis = 50;

/** The leader's pass over what is to run: drains the queue and places tasks. */
@Injectable()
export class Scheduler {
  constructor(
    pollers: Pollers,
    private readonly flows: FlowReleases,
    private readonly drain: DrainService,
    private readonly placement: PlacementService,
    private readonly unasked: UnaskedMachines,
    private readonly clock: Clock,
    @Inject(SETTINGS) settings: Settings,
  ) {
    pollers.register({
      name: 'scheduler',
      essential: true,
      runsWhile: 'RUN_SCHEDULER_POLLER',
      everyMs: settings.checkSchedulerEverySeconds * 1_000,
      pass: (now) => this.runOnce(now),
      wakeOn: ['scheduler'],
    });
  }

  /**
   * One pass: what was just queued is placed, and what is placed is sent, without waiting for another tick. Answers when
   * the next planned task is due, so that a cron job starts at its second, or when to look again at what another transaction held.
   */
  async runOnce(now: number): Promise<number | undefined> {
    this.unasked.passBegins();
    const someFlowsAreHeld = await this.flows.runOnce(now);
    const someAreHeld = (await this.drain.runOnce(now)) || someFlowsAreHeld;
    // Draining took its time: tasks that it planned for "now" are due.
    const due = await this.placement.runOnce(Math.max(now, this.clock.now()));
    const again = someAreHeld ? this.clock.now() + heldRequestsMillis : undefined;
    return earliest([due, again, await this.drain.nextLook(now)]);
  }
}

/** The leader's pass over what machines have been asked for: sends orders to start and to end. */
@Injectable()
export class Dispatch {
  constructor(
    pollers: Pollers,
    private readonly launches: LaunchDispatcher,
    private readonly kills: KillDispatcher,
  ) {
    pollers.register({
      name: 'dispatch',
      essential: true,
      everyMs: dispatchEveryMillis,
      pass: (now) => this.runOnce(now),
      wakeOn: ['dispatch'],
    });
  }

  async runOnce(now: number): Promise<void> {
    await this.kills.runOnce();
    await this.launches.repeat(now);
  }
}

function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

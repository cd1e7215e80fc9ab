import { Inject, Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Poller } from '../../platform/poller/poller.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployStore } from './deploy-store.service.js';
import { DeploySteps } from './deploy-steps.service.js';

/** The most a timer of Node can wait. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Moves every deploy in progress one step forward: after each change of a task, and at the moments time decides. */
@Injectable()
export class DeploysPoller implements OnModuleInit, OnApplicationShutdown {
  private readonly log = new Logger(DeploysPoller.name);
  private poller: Poller | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly db: Database,
    private readonly deploys: DeployStore,
    private readonly steps: DeploySteps,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.poller = this.pollers.register({
      name: 'deploys',
      everyMs: this.settings.checkDeploysEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
      wakeOn: ['deploys'],
    });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    const pending = await this.deploys.findPending(this.db.manager);
    const moments: number[] = [];
    for (const { requestId, deployId } of pending) {
      // The others still move when one is stuck.
      const at = await this.step(requestId, now).catch((cause: unknown) =>
        this.log.error(`Deploy ${deployId} of request ${requestId} is stuck: ${String(cause)}`, cause),
      );
      if (typeof at === 'number') moments.push(at);
    }
    this.lookAgainAt(moments);
  }

  private async step(requestId: string, now: number): Promise<number | undefined> {
    const { wake, lookAgainAt } = await this.db.leaderTransaction((tx) => this.steps.step(tx, requestId, now));
    this.wake.signal(...wake);
    return lookAgainAt;
  }

  /** A task that has run long enough makes its deploy healthy at that moment, not at the next tick. */
  private lookAgainAt(moments: readonly number[]): void {
    clearTimeout(this.timer);
    if (moments.length === 0) return;
    const wait = Math.min(Math.max(Math.min(...moments) - this.clock.now(), 0), longestTimeoutMs);
    this.timer = setTimeout(() => this.poller?.wake(), wait);
    this.timer.unref();
  }
}

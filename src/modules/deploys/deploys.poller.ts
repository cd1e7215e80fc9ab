import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployStore } from './deploy-store.service.js';
import { DeploySteps } from './deploy-steps.service.js';

/** Moves every deploy in progress one step forward: after each change of a task, and at the moments time decides. */
@Injectable()
export class DeploysPoller implements OnModuleInit {
  private readonly log = new Logger(DeploysPoller.name);

  constructor(
    private readonly db: Database,
    private readonly deploys: DeployStore,
    private readonly steps: DeploySteps,
    private readonly wake: Wake,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'deploys',
      runsWhile: 'RUN_DEPLOY_POLLER',
      everyMs: this.settings.checkDeploysEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
      wakeOn: ['deploys'],
    });
  }

  /** One pass. Answers the next moment at which time alone moves a deploy. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<number | undefined> {
    const pending = await this.deploys.findPending(this.db.manager);
    const moments: number[] = [];
    for (const { requestId, deployId } of pending) {
      // The others still move when one is stuck.
      const at = await this.step(requestId, now).catch((cause: unknown) =>
        this.log.error(`Deploy ${deployId} of request ${requestId} is stuck: ${String(cause)}`, cause),
      );
      if (typeof at === 'number') moments.push(at);
    }
    return moments.length > 0 ? Math.min(...moments) : undefined;
  }

  private async step(requestId: string, now: number): Promise<number | undefined> {
    const { wake, lookAgainAt } = await this.db.leaderTransaction((tx) => this.steps.step(tx, requestId, now));
    this.wake.signal(...wake);
    return lookAgainAt;
  }
}

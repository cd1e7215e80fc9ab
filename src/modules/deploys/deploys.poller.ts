import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployStore, type DeployKey } from './deploy-store.service.js';
import { DeploySteps, type OutsideJob, type StepResult } from './deploy-steps.service.js';

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
    const moments: number[] = [];
    const waiting: Waiting[] = [];
    for (const key of await this.deploys.findPending(this.db.manager)) {
      const result = await this.guarded(key, () => this.step(key, now));
      if (result?.lookAgainAt !== undefined) moments.push(result.lookAgainAt);
      if (result?.outside) waiting.push({ key, job: result.outside });
    }
    // Those outside may be slow, so they are asked when everything else is done.
    await inParallel(waiting, async ({ key, job }) => {
      const result = await this.guarded(key, () => this.stepOutside(key, job, now));
      // Whatever else is to be asked is asked in the next pass, which follows at once.
      const next = result?.outside ? now : result?.lookAgainAt;
      if (next !== undefined) moments.push(next);
    });
    return moments.length > 0 ? Math.min(...moments) : undefined;
  }

  private step({ requestId }: DeployKey, now: number): Promise<StepResult> {
    return this.db.leaderTransaction((tx) => this.steps.step(tx, requestId, now));
  }

  private async stepOutside({ requestId }: DeployKey, job: OutsideJob, now: number): Promise<StepResult> {
    const said = await this.steps.ask(job);
    return this.db.leaderTransaction((tx) => this.steps.answered(tx, requestId, said, now));
  }

  /** The others still move when one is stuck. */
  private async guarded(
    { requestId, deployId }: DeployKey,
    look: () => Promise<StepResult>,
  ): Promise<StepResult | undefined> {
    try {
      const result = await look();
      this.wake.signal(...result.wake);
      return result;
    } catch (cause) {
      this.log.error(`Deploy ${deployId} of request ${requestId} is stuck: ${String(cause)}`, cause);
      return undefined;
    }
  }
}

interface Waiting {
  key: DeployKey;
  job: OutsideJob;
}

/** Deploys that wait for an answer from outside at the same time. */
const mostAtOnce = 8;

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const worker = async () => {
    for (const item of left) await work(item);
  };
  await Promise.all(Array.from({ length: mostAtOnce }, worker));
}

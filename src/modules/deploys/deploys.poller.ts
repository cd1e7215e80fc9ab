import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { deployEndText } from '../../core/deploys/index.js';
import type { DeployKey } from '../../core/model/deploy.js';
import { inParallel } from '../../platform/async.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployRepository } from './deploy.repository.js';
import { DeploySteps } from './deploy-steps.service.js';
import { type OutsideJob, type StepResult } from './step-result.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Deploys that wait for an answer from outside at the same time. */
const mostAtOnce = 8;

/**
 * Moves deploys in progress one step forward: each after a change of its tasks or an order about it, and at the moments that
 * time decides; all of them when the timer of the poller says so.
 */
@Injectable()
export class DeploysPoller implements OnModuleInit {
  private readonly log = new Logger(DeploysPoller.name);
  /** By request: when time alone may move its deploy. A pass over some of them must not forget the others. */
  private readonly nextLooks = new Map<string, number>();

  constructor(
    private readonly db: Database,
    private readonly deploys: DeployRepository,
    private readonly steps: DeploySteps,
    private readonly wake: Wake,
    private readonly pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'deploys',
      essential: true,
      runsWhile: 'RUN_DEPLOY_POLLER',
      everyMs: this.settings.checkDeploysEverySeconds * 1000,
      pass: (now, requestIds) => this.runOnce(now, requestIds),
      takesKeys: true,
      wakeOn: ['deploys'],
    });
  }

  /**
   * One pass over all deploys, or over those of these requests and those whose moment has come. Answers the next moment at
   * which time alone moves a deploy. Public so that a test runs it with its own `now`.
   */
  async runOnce(now: number, requestIds?: ReadonlySet<string>): Promise<number | undefined> {
    const waiting: Waiting[] = [];
    for (const key of await this.wanted(now, requestIds)) {
      const result = await this.guarded(key, () => this.step(key, now));
      this.lookAgain(key, result?.checkAgainAt);
      if (result?.outside) waiting.push({ key, job: result.outside });
    }
    // Those outside may be slow, so they are asked when everything else is done.
    await inParallel(waiting, mostAtOnce, async ({ key, job }) => {
      const result = await this.guarded(key, () => this.stepOutside(key, job, now));
      // Whatever else is to be asked is asked in the next pass, which follows at once.
      this.lookAgain(key, result?.outside ? now : result?.checkAgainAt);
    });
    return this.nextLooks.size > 0 ? Math.min(...this.nextLooks.values()) : undefined;
  }

  /** Forgets when they were to be looked at: this look says when the next one is. */
  private async wanted(now: number, requestIds: ReadonlySet<string> | undefined): Promise<DeployKey[]> {
    const due = [...this.nextLooks].filter(([, at]) => at <= now).map(([requestId]) => requestId);
    const ids = requestIds && [...new Set([...requestIds, ...due])];
    if (ids?.length === 0) return [];
    const found = await this.deploys.findPending(this.db.pool, ids);
    for (const id of ids ?? [...this.nextLooks.keys()]) this.nextLooks.delete(id);
    return found;
  }

  private lookAgain({ requestId }: DeployKey, at: number | undefined): void {
    if (at === undefined) this.nextLooks.delete(requestId);
    else this.nextLooks.set(requestId, at);
  }

  private step({ requestId }: DeployKey, now: number): Promise<StepResult> {
    return this.db.leaderTransaction((tx) => this.steps.step(tx, requestId, now));
  }

  private async stepOutside({ requestId }: DeployKey, job: OutsideJob, now: number): Promise<StepResult> {
    const said = await this.steps.ask(job).catch((cause: unknown) => {
      // A connection that those outside refuse says nothing about the database.
      throw new Error(`Those outside could not be asked: ${String(cause)}`);
    });
    return this.db.leaderTransaction((tx) => this.steps.answered(tx, requestId, said, now));
  }

  private tellEnd({ marker, result }: NonNullable<StepResult['ended']>): void {
    const line = deployEndText(marker, result);
    if (result.deployState === 'SUCCEEDED' || result.deployState === 'CANCELED') this.log.log(line);
    else this.log.warn(line);
  }

  /** The others still move when one is stuck. */
  private async guarded(
    { requestId, deployId }: DeployKey,
    look: () => Promise<StepResult>,
  ): Promise<StepResult | undefined> {
    try {
      const result = await look();
      this.wake.signalOf([requestId], ...result.wake);
      if (result.ended) this.tellEnd(result.ended);
      return result;
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      tellFailure(this.log, `Deploy ${deployId} of request ${requestId} is stuck`, cause);
      return undefined;
    }
  }
}

interface Waiting {
  key: DeployKey;
  job: OutsideJob;
}

import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import { Pollers } from '../../../platform/poller/pollers.js';
import { ServiceAsker } from '../../../platform/service-asker.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { Wake } from '../../../platform/wake/wake.js';
import { RequestRepository, type StoredRequest } from '../request.repository.js';
import { AutoscaleDecisions } from './autoscale-decisions.service.js';
import { AutoscaleMetrics } from './autoscale-metrics.service.js';

/**
 * Looks at each request with autoscaling: measures outside of a transaction, then decides, scales and stores the decision in one of the
 * leader. So a metric may be asked for twice after a crash, and a scale is made once.
 */
@Injectable()
export class AutoscalePoller implements OnModuleInit {
  private readonly log = new Logger(AutoscalePoller.name);

  constructor(
    private readonly db: Database,
    private readonly requests: RequestRepository,
    private readonly asker: ServiceAsker,
    private readonly metrics: AutoscaleMetrics,
    private readonly decisions: AutoscaleDecisions,
    private readonly pollers: Pollers,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    this.pollers.register({
      name: 'autoscale',
      everyMs: this.settings.checkAutoscaleEverySeconds * 1000,
      pass: () => this.runOnce(),
    });
  }

  /**
   * One pass over requests with autoscaling; those that it has no time for are the first of the next one. Public so that a test runs it
   * when it wants.
   */
  async runOnce(): Promise<void> {
    const found = await this.requests.findAutoscaled(this.db.leaderPool);
    await this.asker.forAll(
      found,
      ({ request }) => request.group,
      (stored) => this.guarded(stored),
    );
  }

  /** The others are still looked at when one goes wrong. */
  private async guarded(seen: StoredRequest): Promise<void> {
    const { id } = seen.request;
    try {
      const measured = await this.metrics.measure(seen);
      if (await this.decisions.decide(seen, measured))
        this.wake.signalOf([id], 'scheduler', 'cleanup', 'expiring', 'webhooks');
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      tellFailure(this.log, `Autoscaling of request ${id} is stuck`, cause);
    }
  }
}

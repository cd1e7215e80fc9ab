import { Inject, Injectable } from '@nestjs/common';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { DeletionPass } from './deletion-pass.service.js';
import { RemovalPass } from './removal-pass.service.js';

/**
 * Tasks leave the load balancer, then services do. On a poller of its own: one that does not answer holds up nothing but what
 * waits for it.
 */
@Injectable()
export class LoadBalancerCleanupPoller {
  constructor(
    private readonly removals: RemovalPass,
    private readonly deletions: DeletionPass,
    pollers: Pollers,
    @Inject(SETTINGS) { cleanupEverySeconds }: Settings,
  ) {
    pollers.register({
      name: 'load-balancer-cleanup',
      runsWhile: 'RUN_CLEANUP_POLLER',
      everyMs: cleanupEverySeconds * 1000,
      wakeOn: ['load-balancer'],
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    await this.removals.run(now);
    await this.deletions.run(now);
  }
}

import { Inject, Injectable, Logger } from '@nestjs/common';
import { decideDeletion, endsDeletion, isRefused } from '../../core/load-balancer/index.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { LoadBalancerDeletionRepository, type QueuedDeletion } from './load-balancer-deletion.repository.js';
import { LoadBalancer, mostCallsAtOnce } from '../../platform/load-balancer/load-balancer.js';
import { RemovalPass } from './removal-pass.service.js';

/** Takes the services of deleted requests off the load balancer. */
@Injectable()
export class DeletionPass {
  private readonly log = new Logger(DeletionPass.name);

  constructor(
    private readonly db: Database,
    private readonly loadBalancer: LoadBalancer,
    private readonly queue: LoadBalancerDeletionRepository,
  ) {}

  async run(now: number): Promise<void> {
    await inParallel(await this.queue.all(this.db.pool), mostCallsAtOnce, (deletion) => this.look(deletion, now));
  }

  private async look(deletion: QueuedDeletion, now: number): Promise<void> {
    const step = decideDeletion(deletion, now);
    if (step.kind === 'wait') return;
    const answer =
      step.kind === 'poll'
        ? await this.loadBalancer.state(step.id)
        : await this.loadBalancer.deleteService(step.id, deletion.service);
    if (isRefused(answer)) {
      const { loadBalancerState, message } = answer;
      const what = `the service of request '${deletion.requestId}'`;
      this.log.warn(`The load balancer still holds ${what}: ${loadBalancerState}, ${message ?? ''}`);
    }
    await this.db.leaderTransaction((tx) => this.queue.settle(tx, deletion, endsDeletion(answer) ? undefined : answer));
  }
}

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

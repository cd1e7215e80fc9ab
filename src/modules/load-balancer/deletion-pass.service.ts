import { Injectable, Logger } from '@nestjs/common';
import { decideDeletion, endsDeletion, isRefused } from '../../core/load-balancer/index.js';
import { Database } from '../../platform/database/database.js';
import { LoadBalancerDeletions, type QueuedDeletion } from './load-balancer-deletions.service.js';
import { LoadBalancer } from './load-balancer.js';
import { inTurns } from './in-turns.js';

/** Takes the services of deleted requests off the load balancer. */
@Injectable()
export class DeletionPass {
  private readonly log = new Logger(DeletionPass.name);

  constructor(
    private readonly db: Database,
    private readonly loadBalancer: LoadBalancer,
    private readonly queue: LoadBalancerDeletions,
  ) {}

  async run(now: number): Promise<void> {
    await inTurns(await this.queue.all(this.db.manager), (deletion) => this.look(deletion, now));
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
      this.log.warn(`The load balancer did not let go of ${what}: ${loadBalancerState}, ${message ?? ''}`);
    }
    await this.db.leaderTransaction((tx) => this.queue.settle(tx, deletion, endsDeletion(answer) ? undefined : answer));
  }
}

import { Injectable } from '@nestjs/common';
import type { TaskId } from '../../core/model/task.js';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { LoadBalancerDeletions } from './load-balancer-deletions.service.js';
import { LoadBalancerRemovals } from './load-balancer-removals.service.js';

/** What waits to be taken off the load balancer, as the API shows it. */
@Injectable()
export class LoadBalancerQueues {
  constructor(
    private readonly db: Database,
    private readonly removals: LoadBalancerRemovals,
    private readonly deletions: LoadBalancerDeletions,
  ) {}

  async taskIds(): Promise<TaskId[]> {
    const ids = await this.removals.endedTaskIds(this.db.manager);
    // Task ids are made by this service, so each can be read.
    return ids.map((id) => parseTaskId(id)!);
  }

  requestIds(): Promise<string[]> {
    return this.deletions.requestIds(this.db.manager);
  }
}

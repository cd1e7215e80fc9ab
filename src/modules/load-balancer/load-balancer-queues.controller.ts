import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { parseTaskId } from '../../core/task-id.js';
import { Database } from '../../platform/database/database.js';
import { Query } from '../../platform/http/inputs.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { TaskIdDto } from '../tasks/dto/task-id.dto.js';
import { LoadBalancerDeletionRepository } from './load-balancer-deletion.repository.js';
import { LoadBalancerRemovalRepository } from '../tasks/balancing/load-balancer-removal.repository.js';

@Controller('api')
export class LoadBalancerQueuesController {
  constructor(
    private readonly db: Database,
    private readonly removals: LoadBalancerRemovalRepository,
    private readonly deletions: LoadBalancerDeletionRepository,
  ) {}

  /** Ids of deleted requests whose service waits to be taken off the load balancer, in their order. */
  @ApiTags('Requests')
  @Get('requests/lbcleanup')
  requests(@Query() _query: CacheQuery): Promise<string[]> {
    return this.deletions.requestIds(this.db.pool);
  }

  /** Lists the tasks that have ended and wait to be taken off the load balancer. */
  @ApiTags('Tasks')
  @Get('tasks/lbcleanup')
  async tasks(): Promise<TaskIdDto[]> {
    const ids = await this.removals.endedTaskIds(this.db.pool);
    // Task ids are made by this service, so each can be read.
    return ids.map((id) => parseTaskId(id)!);
  }
}

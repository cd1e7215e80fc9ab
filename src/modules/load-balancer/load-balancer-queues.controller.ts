import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { TaskIdDto } from '../tasks/dto/task-id.dto.js';
import { LoadBalancerQueues } from './load-balancer-queues.service.js';

@Controller('api')
export class LoadBalancerQueuesController {
  constructor(private readonly queues: LoadBalancerQueues) {}

  /** Ids of deleted requests whose service waits to be taken off the load balancer, in their order. */
  @ApiTags('Requests')
  @Get('requests/lbcleanup')
  requests(@Query() _query: CacheQuery): Promise<string[]> {
    return this.queues.requestIds();
  }

  /** Lists the tasks that have ended and wait to be taken off the load balancer. */
  @ApiTags('Tasks')
  @Get('tasks/lbcleanup')
  tasks(): Promise<TaskIdDto[]> {
    return this.queues.taskIds();
  }
}

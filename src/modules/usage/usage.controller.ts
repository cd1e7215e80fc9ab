import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Query } from '../../platform/http/inputs.js';
import { IgnoredUserBody } from '../auth/auth.dto.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { ClusterUtilizationDto, RequestUtilizationDto, SlaveUsageDto, TaskUsageDto } from './dto/usage.dto.js';
import { UsageReads } from './usage-reads.service.js';

@ApiTags('Resource usage')
@Controller('api/usage')
export class UsageController {
  constructor(private readonly usage: UsageReads) {}

  /** Shows what each slave used when it was sampled last. */
  @Get('slaves')
  slaves(): Promise<SlaveUsageDto[]> {
    return this.usage.slaves();
  }

  /** Lists the kept samples of a task, oldest first; none when it was not sampled or they were cleaned up. */
  @Get('tasks/:taskId/history')
  taskHistory(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskUsageDto[]> {
    return this.usage.taskHistory(taskId);
  }

  /** Shows how far what all requests ask for and what they use lie apart. */
  @Get('cluster/utilization')
  cluster(): Promise<ClusterUtilizationDto> {
    return this.usage.cluster();
  }

  /** Lists what the tasks of each request use. */
  @Get('requests')
  @IgnoredUserBody()
  requests(@Query() _query: CacheQuery): Promise<RequestUtilizationDto[]> {
    return this.usage.requests();
  }

  /** Shows what the tasks of a request use. */
  @Get('requests/request/:requestId')
  @IgnoredUserBody()
  request(@Param('requestId') requestId: string, @Query() _query: CacheQuery): Promise<RequestUtilizationDto> {
    return this.usage.request(requestId);
  }
}

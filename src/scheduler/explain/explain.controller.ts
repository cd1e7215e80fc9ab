import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { PendingTaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { RequestExplanationDto, TaskExplanationDto } from './dto/explanation.dto.js';
import { ExplainService } from './explain.service.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Tasks')
@Controller('api/tasks/scheduled/task/:pendingTaskId/explain')
export class TaskExplainController {
  constructor(private readonly explanations: ExplainService) {}

  /** Says why a waiting task is not running, with the number of slaves per reason against it. */
  @Get()
  @Since('muster')
  explain(@Param('pendingTaskId', PendingTaskIdPipe) id: string): Promise<TaskExplanationDto> {
    return this.explanations.task(id);
  }
}

@ApiTags('Requests')
@Controller('api/requests/request/:requestId/explain')
export class RequestExplainController {
  constructor(private readonly explanations: ExplainService) {}

  /** Says of each waiting task of a request why it is not running, and what waits in the queue. */
  @Get()
  @Since('muster')
  explain(@Param('requestId') id: string): Promise<RequestExplanationDto> {
    return this.explanations.request(id);
  }
}

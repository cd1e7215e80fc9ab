import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import type { ListPage, KeysetPage } from '../../platform/database/keyset.js';
import { CallerUser } from '../../platform/http/caller.js';
import { AskedPage } from '../../platform/http/pages.js';
import { PendingTaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { RequestExplanationDto, TaskExplanationDto, NotedReasonDto } from './dto/explanation.dto.js';
import { ExplainService } from './explain.service.js';
import type { NotedReason } from './waiting-reason.repository.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Tasks')
@Controller('api/tasks/scheduled/task/:pendingTaskId/explain')
export class TaskExplainController {
  constructor(private readonly explanations: ExplainService) {}

  /** Says why a waiting task is not running, with the number of slaves per reason against it. */
  @Get()
  @Since('muster')
  explain(
    @Param('pendingTaskId', PendingTaskIdPipe) id: string,
    @CallerUser() user: User,
  ): Promise<TaskExplanationDto> {
    return this.explanations.task(id, user);
  }
}

@ApiTags('Tasks')
@Controller('api/tasks/scheduled/reasons')
export class WaitingReasonsController {
  constructor(private readonly explanations: ExplainService) {}

  /** Says of each task that is due and waits why, as the scheduler saw it last, in the order of ids. */
  @Get()
  @Since('muster')
  @ApiOkResponse({ type: [NotedReasonDto] })
  list(@CallerUser() user: User, @AskedPage() page?: KeysetPage): Promise<NotedReason[] | ListPage<NotedReason>> {
    return this.explanations.reasons(user, page);
  }
}

@ApiTags('Requests')
@Controller('api/requests/request/:requestId/explain')
export class RequestExplainController {
  constructor(private readonly explanations: ExplainService) {}

  /** Says of each waiting task of a request why it is not running, and what waits in the queue. */
  @Get()
  @Since('muster')
  explain(@Param('requestId') id: string, @CallerUser() user: User): Promise<RequestExplanationDto> {
    return this.explanations.request(id, user);
  }
}

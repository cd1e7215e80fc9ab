import { Controller, Delete, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import type { ListPage, KeysetPage } from '../../platform/database/keyset.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { AskedPage } from '../../platform/http/pages.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { PendingTaskIdDto } from './dto/task-id.dto.js';
import { PendingTaskDto, TaskRequestDto } from './dto/task.dto.js';
import { ScheduledTasks } from './scheduled-tasks.service.js';
import { PendingTaskIdPipe } from '../../platform/http/task-id.pipe.js';

type TaskRequestList = Promise<TaskRequestDto[] | ListPage<TaskRequestDto>>;

@ApiTags('Tasks')
@Controller('api/tasks/scheduled')
export class ScheduledTasksController {
  constructor(private readonly scheduled: ScheduledTasks) {}

  /** Lists the tasks that wait for their time or for a machine, the next one first. */
  @Get()
  @ApiOkResponse({ type: [TaskRequestDto] })
  list(@Query() _query: CacheQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): TaskRequestList {
    return page ? this.scheduled.page(page, user) : this.scheduled.list();
  }

  /** Lists the ids of the tasks that wait for their time or for a machine, the next one first. */
  @Get('ids')
  @ApiOkResponse({ type: [PendingTaskIdDto] })
  ids(
    @Query() _query: CacheQuery,
    @CallerUser() user: User,
    @AskedPage() page?: KeysetPage,
  ): Promise<PendingTaskIdDto[] | ListPage<PendingTaskIdDto>> {
    return page ? this.scheduled.idsPage(page, user) : this.scheduled.ids();
  }

  /** Lists the waiting tasks of one request. */
  @Get('request/:requestId')
  @ApiOkResponse({ type: [TaskRequestDto] })
  ofRequest(
    @Param('requestId') requestId: string,
    @Query() _query: CacheQuery,
    @CallerUser() user: User,
    @AskedPage() page?: KeysetPage,
  ): TaskRequestList {
    return page ? this.scheduled.page(page, user, requestId) : this.scheduled.list({ requestId });
  }

  /** Shows one waiting task. */
  @Get('task/:pendingTaskId')
  find(@Param('pendingTaskId', PendingTaskIdPipe) id: string): Promise<TaskRequestDto> {
    return this.scheduled.find(id);
  }

  /** Deletes a waiting task of an ON_DEMAND request. */
  @Delete('task/:scheduledTaskId')
  remove(@Param('scheduledTaskId', PendingTaskIdPipe) id: string): Promise<PendingTaskDto> {
    return this.scheduled.remove(id);
  }
}

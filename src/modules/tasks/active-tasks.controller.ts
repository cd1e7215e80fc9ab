import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import type { ListPage, KeysetPage } from '../../platform/database/keyset.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { AskedPage } from '../../platform/http/pages.js';
import { Since } from '../../platform/http/since.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { KilledTaskIdRecordDto, TaskCleanupDto } from './dto/task-cleanup.dto.js';
import { TaskCountsDto, TaskHistoryUpdateDto, TaskIdDto, TaskIdsByStatusDto } from './dto/task-id.dto.js';
import { TaskDto } from './dto/task.dto.js';
import { TaskLists } from './active-tasks.service.js';
import { TaskReads } from './task-reads.service.js';

type TaskList = Promise<TaskDto[] | ListPage<TaskDto>>;
type TaskIdList = Promise<TaskIdDto[] | ListPage<TaskIdDto>>;

@ApiTags('Tasks')
@Controller('api/tasks')
export class ActiveTasksController {
  constructor(
    private readonly lists: TaskLists,
    private readonly tasks: TaskReads,
  ) {}

  /** Lists all active tasks. */
  @Get('active')
  @ApiOkResponse({ type: [TaskDto] })
  active(@Query() _query: CacheQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): TaskList {
    return page ? this.lists.activePage(page, user) : this.lists.active();
  }

  /** Lists the ids of all active tasks. */
  @Get('active/ids')
  @ApiOkResponse({ type: [TaskIdDto] })
  activeIds(@Query() _query: CacheQuery, @CallerUser() user: User, @AskedPage() page?: KeysetPage): TaskIdList {
    return page ? this.lists.activeIdsPage(page, user) : this.lists.activeIds();
  }

  /** Lists the updates of all active tasks, by task id. */
  @Get('active/states')
  @ApiOkResponse({
    schema: {
      type: 'object',
      additionalProperties: { type: 'array', items: { $ref: getSchemaPath(TaskHistoryUpdateDto) } },
    },
  })
  activeStates(@Query() _query: CacheQuery): Promise<Record<string, TaskHistoryUpdateDto[]>> {
    return this.lists.activeStates();
  }

  /** Lists the active tasks of one slave. */
  @Get('active/slave/:slaveId')
  @ApiOkResponse({ type: [TaskDto] })
  ofSlave(
    @Param('slaveId') slaveId: string,
    @Query() _query: CacheQuery,
    @CallerUser() user: User,
    @AskedPage() page?: KeysetPage,
  ): TaskList {
    return page ? this.lists.activePage(page, user, slaveId) : this.lists.active(slaveId);
  }

  /** Lists the ids of the active tasks of one slave. */
  @Get('active/slave/:slaveId/ids')
  @ApiOkResponse({ type: [TaskIdDto] })
  idsOfSlave(
    @Param('slaveId') slaveId: string,
    @Query() _query: CacheQuery,
    @CallerUser() user: User,
    @AskedPage() page?: KeysetPage,
  ): TaskIdList {
    return page ? this.lists.activeIdsPage(page, user, slaveId) : this.lists.activeIds(slaveId);
  }

  /** Lists the tasks that have to go, and why. */
  @Get('cleaning')
  cleaning(@Query() _query: CacheQuery): Promise<TaskCleanupDto[]> {
    return this.lists.cleanups();
  }

  /** Lists the tasks whose kill was sent and whose end has not been reported yet. */
  @Get('killed')
  killed(): Promise<KilledTaskIdRecordDto[]> {
    return this.lists.killed();
  }

  /** Sorts the tasks of one request by how they are doing. */
  @Get('ids/request/:requestId')
  ofRequest(@Param('requestId') requestId: string): Promise<TaskIdsByStatusDto> {
    return this.tasks.ofRequest(requestId);
  }

  /** Counts the tasks of one request. One that is not there has none. */
  @Get('counts/request/:requestId')
  @Since('1.5')
  countsOfRequest(@Param('requestId') requestId: string): Promise<TaskCountsDto> {
    return this.tasks.countsOfRequest(requestId);
  }
}

import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { CacheQuery } from '../requests/dto/queries.dto.js';
import { KilledTaskIdRecordDto, TaskCleanupDto } from './dto/task-cleanup.dto.js';
import { TaskCountsDto, TaskHistoryUpdateDto, TaskIdDto, TaskIdsByStatusDto } from './dto/task-id.dto.js';
import { TaskDto } from './dto/task.dto.js';
import { TaskLists } from './active-tasks.service.js';
import { TaskReads } from './task-reads.service.js';

@ApiTags('Tasks')
@Controller('api/tasks')
export class ActiveTasksController {
  constructor(
    private readonly lists: TaskLists,
    private readonly tasks: TaskReads,
  ) {}

  /** Lists all active tasks. */
  @Get('active')
  active(@Query() _query: CacheQuery): Promise<TaskDto[]> {
    return this.lists.active();
  }

  /** Lists the ids of all active tasks. */
  @Get('active/ids')
  activeIds(@Query() _query: CacheQuery): Promise<TaskIdDto[]> {
    return this.lists.activeIds();
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
  ofSlave(@Param('slaveId') slaveId: string, @Query() _query: CacheQuery): Promise<TaskDto[]> {
    return this.lists.active(slaveId);
  }

  /** Lists the ids of the active tasks of one slave. */
  @Get('active/slave/:slaveId/ids')
  idsOfSlave(@Param('slaveId') slaveId: string, @Query() _query: CacheQuery): Promise<TaskIdDto[]> {
    return this.lists.activeIds(slaveId);
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

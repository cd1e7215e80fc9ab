import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { TimeRange } from '../../core/authorization/index.js';
import { ReadablePast } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { TaskIdHistoryDto } from '../tasks/dto/task-id.dto.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { HistoryQuery, SkipZkDefault, TaskFilterQuery, TaskSearchQuery } from './dto/queries.dto.js';
import { TaskHistoryDto, TaskIdHistoryPageDto } from './dto/history.dto.js';
import { TaskHistories } from './task-histories.service.js';

@ApiTags('History')
@Controller('api/history')
export class TaskHistoryController {
  constructor(private readonly tasks: TaskHistories) {}

  /** Searches the ended tasks of all requests. */
  @Get('tasks')
  @SkipZkDefault(true)
  search(
    @Query() { skipZk = true, ...query }: TaskSearchQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryDto[]> {
    return this.tasks.search({ ...query, historyOnly: skipZk }, query, past);
  }

  /** Searches the ended tasks of all requests, and counts them. */
  @Get('tasks/withmetadata')
  @SkipZkDefault(true)
  searchPage(
    @Query() { skipZk = true, ...query }: TaskSearchQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryPageDto> {
    return this.tasks.page({ ...query, historyOnly: skipZk }, query, past);
  }

  /** Shows everything known of one task, active or ended. */
  @Get('task/:taskId')
  find(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskHistoryDto> {
    return this.tasks.find(taskId);
  }

  /** Searches the ended tasks of one request. */
  @Get('request/:requestId/tasks')
  @SkipZkDefault(false)
  ofRequest(
    @Param('requestId') requestId: string,
    @Query() { skipZk = false, ...query }: TaskFilterQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryDto[]> {
    return this.tasks.search({ ...query, requestId, historyOnly: skipZk }, query, past);
  }

  /** Searches the ended tasks of one request, and counts them. */
  @Get('request/:requestId/tasks/withmetadata')
  @SkipZkDefault(true)
  ofRequestPage(
    @Param('requestId') requestId: string,
    @Query() { skipZk = true, ...query }: TaskFilterQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryPageDto> {
    return this.tasks.page({ ...query, requestId, historyOnly: skipZk }, query, past);
  }

  /** Lists the active tasks of one request, newest update first. */
  @Get('request/:requestId/tasks/active')
  active(@Param('requestId') requestId: string): Promise<TaskIdHistoryDto[]> {
    return this.tasks.active(requestId);
  }

  /** Lists the active tasks of one deploy, newest update first. */
  @Get('request/:requestId/deploy/:deployId/tasks/active')
  activeOfDeploy(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
  ): Promise<TaskIdHistoryDto[]> {
    return this.tasks.active(requestId, deployId);
  }

  /** Lists the ended tasks of one deploy, newest update first. */
  @Get('request/:requestId/deploy/:deployId/tasks/inactive')
  @SkipZkDefault(true)
  ofDeploy(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
    @Query() { skipZk = true, ...choice }: HistoryQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryDto[]> {
    return this.tasks.search({ requestId, deployId, historyOnly: skipZk }, choice, past);
  }

  /** Lists the ended tasks of one deploy, newest update first, and counts them. */
  @Get('request/:requestId/deploy/:deployId/tasks/inactive/withmetadata')
  @SkipZkDefault(true)
  ofDeployPage(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
    @Query() { skipZk = true, ...choice }: HistoryQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryPageDto> {
    return this.tasks.page({ requestId, deployId, historyOnly: skipZk }, choice, past);
  }

  /** Shows the newest task of a run, active or ended. */
  @Get('request/:requestId/run/:runId')
  ofRun(
    @Param('requestId') requestId: string,
    @Param('runId') runId: string,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskIdHistoryDto> {
    return this.tasks.ofRun(requestId, runId, past);
  }
}

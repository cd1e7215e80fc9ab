import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { TimeRange } from '../../core/authorization/index.js';
import { ReadablePast } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { DeployHistoryDto } from '../deploys/dto/deploy-history.dto.js';
import { DeployHistoryPageDto, RequestHistoryDto, RequestHistoryPageDto } from './dto/history.dto.js';
import {
  CommandLineArgsQuery,
  HistoryQuery,
  RequestChangeQuery,
  RequestSearchQuery,
  SkipZkDefault,
} from './dto/queries.dto.js';
import { DeployHistories, RequestHistories } from './request-histories.service.js';
import { TaskHistories } from './task-histories.service.js';

@ApiTags('History')
@Controller('api/history')
export class RequestHistoryController {
  constructor(
    private readonly requests: RequestHistories,
    private readonly deploys: DeployHistories,
    private readonly tasks: TaskHistories,
  ) {}

  /** Shows one deploy, in progress or past. */
  @Get('request/:requestId/deploy/:deployId')
  deploy(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
    @ReadablePast() past: TimeRange,
  ): Promise<DeployHistoryDto> {
    return this.deploys.find(requestId, deployId, past);
  }

  /** Lists the deploys of a request, newest first. */
  @Get('request/:requestId/deploys')
  @SkipZkDefault(false)
  deploysOf(
    @Param('requestId') requestId: string,
    @Query() choice: HistoryQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<DeployHistoryDto[]> {
    return this.deploys.list(requestId, choice, past);
  }

  /** Lists the deploys of a request, newest first, and counts them. */
  @Get('request/:requestId/deploys/withmetadata')
  @SkipZkDefault(true)
  deployPage(
    @Param('requestId') requestId: string,
    @Query() choice: HistoryQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<DeployHistoryPageDto> {
    return this.deploys.page(requestId, choice, past);
  }

  /** Lists the changes of a request, newest first unless asked otherwise. */
  @Get('request/:requestId/requests')
  @SkipZkDefault(false)
  changes(
    @Param('requestId') requestId: string,
    @Query() choice: RequestChangeQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<RequestHistoryDto[]> {
    return this.requests.list(requestId, choice, past);
  }

  /** Lists the changes of a request, newest first unless asked otherwise, and counts them. */
  @Get('request/:requestId/requests/withmetadata')
  @SkipZkDefault(true)
  changePage(
    @Param('requestId') requestId: string,
    @Query() choice: RequestChangeQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<RequestHistoryPageDto> {
    return this.requests.page(requestId, choice, past);
  }

  /** Lists the ids of all requests there ever were that begin so. */
  @Get('requests/search')
  search(@Query() { requestIdLike, ...choice }: RequestSearchQuery): Promise<string[]> {
    return this.requests.search(requestIdLike, choice);
  }

  /** Lists the different arguments with which the newest ended tasks of a request were run. */
  @Get('request/:requestId/command-line-args')
  @SkipZkDefault(true)
  @ApiOkResponse({ schema: { type: 'array', items: { type: 'array', items: { type: 'string' } }, uniqueItems: true } })
  commandLineArgs(
    @Param('requestId') requestId: string,
    @Query() { count, skipZk }: CommandLineArgsQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<string[][]> {
    return this.tasks.commandLineArguments(requestId, past, count, skipZk);
  }
}

import { Controller, Get, HttpCode, Injectable, Param, Post, UseGuards, type CanActivate } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import { NeedsBody } from '../../platform/http/bodies.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import {
  LogsQuery,
  ObjstoreLogDto,
  ObjstoreLogMetadataDto,
  ObjstoreSearchRequestDto,
  ObjstoreSearchResultDto,
  TaskLogsQuery,
} from './dto/logs.dto.js';
import { LogsService } from './logs.service.js';
import { ObjectStore } from './object-store.service.js';

/** Without an object store everything about logs is 404, whatever else may be wrong with a call. */
@Injectable()
class StoreConfigured implements CanActivate {
  constructor(private readonly store: ObjectStore) {}

  canActivate(): boolean {
    this.store.configured();
    return true;
  }
}

@ApiTags('Object store logs')
@ApiExtraModels(ObjstoreLogMetadataDto)
@UseGuards(StoreConfigured)
@Controller('api/logs')
export class LogsController {
  constructor(private readonly logs: LogsService) {}

  /** Lists the stored logs of a task, newest first. 404 without an object store. */
  @Get('task/:taskId')
  ofTask(@Param('taskId', TaskIdPipe) taskId: string, @Query() query: TaskLogsQuery): Promise<ObjstoreLogDto[]> {
    return this.logs.list({ taskIds: [taskId], ...query }, query);
  }

  /** Lists the stored logs of a request, newest first. 404 without an object store. */
  @Get('request/:requestId')
  ofRequest(@Param('requestId') requestId: string, @Query() query: LogsQuery): Promise<ObjstoreLogDto[]> {
    return this.logs.list({ requestsAndDeploys: { [requestId]: [] }, ...query }, query);
  }

  /** Lists the stored logs of a deploy, newest first. 404 without an object store. */
  @Get('request/:requestId/deploy/:deployId')
  ofDeploy(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
    @Query() query: LogsQuery,
  ): Promise<ObjstoreLogDto[]> {
    return this.logs.list({ requestsAndDeploys: { [requestId]: [deployId] }, ...query }, query);
  }

  /** Searches the stored logs of requests, deploys and tasks, page by page. 404 without an object store. */
  @Post('search')
  @HttpCode(200)
  @NeedsBody()
  search(@Body() request: ObjstoreSearchRequestDto): Promise<ObjstoreSearchResultDto> {
    return this.logs.search(request);
  }
}

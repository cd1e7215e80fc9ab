import {
  Controller,
  Get,
  HttpCode,
  Inject,
  Injectable,
  Param,
  Post,
  Req,
  UseGuards,
  type CanActivate,
} from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { NeedsBody } from '../../platform/http/bodies.js';
import { rootUrlOf } from '../../platform/http/context-path.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { TaskIdPipe } from '../../platform/http/task-id.pipe.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
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
  constructor(
    private readonly logs: LogsService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Lists the stored logs of a task, newest first. 404 without an object store. */
  @Get('task/:taskId')
  ofTask(
    @Param('taskId', TaskIdPipe) taskId: string,
    @Query() query: TaskLogsQuery,
    @Req() call: Request,
  ): Promise<ObjstoreLogDto[]> {
    return this.logs.list({ taskIds: [taskId], ...query }, query, rootUrlOf(this.settings, call));
  }

  /** Lists the stored logs of a request, newest first. 404 without an object store. */
  @Get('request/:requestId')
  ofRequest(
    @Param('requestId') requestId: string,
    @Query() query: LogsQuery,
    @Req() call: Request,
  ): Promise<ObjstoreLogDto[]> {
    return this.logs.list({ requestsAndDeploys: { [requestId]: [] }, ...query }, query, rootUrlOf(this.settings, call));
  }

  /** Lists the stored logs of a deploy, newest first. 404 without an object store. */
  @Get('request/:requestId/deploy/:deployId')
  ofDeploy(
    @Param('requestId') requestId: string,
    @Param('deployId') deployId: string,
    @Query() query: LogsQuery,
    @Req() call: Request,
  ): Promise<ObjstoreLogDto[]> {
    return this.logs.list(
      { requestsAndDeploys: { [requestId]: [deployId] }, ...query },
      query,
      rootUrlOf(this.settings, call),
    );
  }

  /** Searches the stored logs of requests, deploys and tasks, page by page. 404 without an object store. */
  @Post('search')
  @HttpCode(200)
  @NeedsBody()
  search(@Body() request: ObjstoreSearchRequestDto, @Req() call: Request): Promise<ObjstoreSearchResultDto> {
    return this.logs.search(request, rootUrlOf(this.settings, call));
  }
}

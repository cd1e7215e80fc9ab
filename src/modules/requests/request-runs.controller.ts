import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { PendingRequestParent } from '../../core/model/request.js';
import type { TaskId } from '../../core/model/task.js';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { RunNowRequestDto } from '../deploys/dto/run-now-request.dto.js';
import { TaskIdDto } from '../tasks/dto/task-id.dto.js';
import { Runs } from './actions/runs.service.js';
import { RunQuery } from './dto/queries.dto.js';
import { PendingRequestParentDto } from './dto/request-parent.dto.js';

@ApiTags('Requests')
@Controller('api/requests/request/:requestId/run')
export class RequestRunsController {
  constructor(private readonly runs: Runs) {}

  /** Runs a SCHEDULED request before its time, or an ON_DEMAND request once more. */
  @Post()
  @ApiOkResponse({ type: PendingRequestParentDto })
  @HttpCode(200)
  run(
    @Param('requestId') id: string,
    @Body() run: RunNowRequestDto,
    @Query() query: RunQuery,
    @CallerUser() caller: Caller,
  ): Promise<PendingRequestParent> {
    return this.runs.run(id, run, query.minimal ?? false, caller);
  }

  /** The task that carries out a run. */
  @Get(':runId')
  @ApiOkResponse({ type: TaskIdDto })
  find(@Param('requestId') id: string, @Param('runId') runId: string): Promise<TaskId> {
    return this.runs.findTask(id, runId);
  }
}

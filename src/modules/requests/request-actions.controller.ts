import { Controller, Get, HttpCode, Param, Post, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { TimeRange } from '../../core/authorization/index.js';
import type { PendingRequestParent, RequestParent } from '../../core/model/request.js';
import type { TaskId } from '../../core/model/task.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { NeedsBody, NeedsMember } from '../../platform/http/bodies.js';
import { type Caller, CallerUser, ReadablePast } from '../../platform/http/caller.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { RunNowRequestDto } from '../deploys/dto/deploy-options.dto.js';
import { TaskIdDto } from '../tasks/dto/task-id.dto.js';
import { Bounces } from './actions/bounces.service.js';
import { HealthcheckSkips } from './actions/healthcheck-skips.service.js';
import { Pauses } from './actions/pauses.service.js';
import { Priorities } from './actions/priorities.service.js';
import { Runs } from './actions/runs.service.js';
import { Scaling } from './actions/scaling.service.js';
import {
  BounceRequestDto,
  ExitCooldownRequestDto,
  PauseRequestDto,
  PriorityRequestDto,
  ScaleRequestDto,
  SkipHealthchecksRequestDto,
  UnpauseRequestDto,
} from './dto/actions.dto.js';
import { RunQuery, ScaleQuery } from './dto/queries.dto.js';
import { PendingRequestParentDto, RequestParentDto } from './dto/request-parent.dto.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Requests')
@Controller('api/requests/request/:requestId')
export class RequestActionsController {
  constructor(
    private readonly bounces: Bounces,
    private readonly pauses: Pauses,
    private readonly priorities: Priorities,
    private readonly scaling: Scaling,
    private readonly skips: HealthcheckSkips,
  ) {}

  /** Replaces all tasks of a SERVICE or WORKER by new ones. Answers the state as it was before. */
  @Post('bounce')
  @NeedsAction('BOUNCE_REQUEST')
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  bounce(
    @Param('requestId') id: string,
    @Body() bounce: BounceRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.bounces.bounce(id, bounce, caller);
  }

  /** Stops new tasks, and kills the running ones unless told otherwise, until the request is unpaused. */
  @Post('pause')
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  pause(
    @Param('requestId') id: string,
    @Body() pause: PauseRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.pauses.pause(id, pause, caller);
  }

  /** Lets a paused request have tasks again. */
  @Post('unpause')
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  unpause(
    @Param('requestId') id: string,
    @Body() unpause: UnpauseRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.pauses.unpause(id, unpause, caller);
  }

  /** Ends a cooldown before its time. Answers the state as it was before. */
  @Post('exit-cooldown')
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  exitCooldown(
    @Param('requestId') id: string,
    @Body() exit: ExitCooldownRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.pauses.exitCooldown(id, exit, caller);
  }

  /** Changes the number of instances, for good or for a while. The body names `instances`. */
  @Put('scale')
  @NeedsAction('SCALE_REQUEST')
  @NeedsMember(['instances'])
  @NeedsBody()
  @ApiOkResponse({ type: RequestParentDto })
  scale(
    @Param('requestId') id: string,
    @Body() scale: ScaleRequestDto,
    @Query() query: ScaleQuery,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.scaling.scale(id, scale, query.largeScaleDownAcknowledged ?? false, caller, query.checkIndex);
  }

  /**
   * Changes how important the tasks are when not all can run, for good or for a while. The body names `priority`; null gives the
   * request that of its type.
   */
  @Put('priority')
  @NeedsMember(['priority'], { nullClears: true })
  @Since('1.5')
  @NeedsAction('PRIORITY_REQUEST', 'UPDATE_REQUEST')
  @NeedsBody()
  @ApiOkResponse({ type: RequestParentDto })
  priority(
    @Param('requestId') id: string,
    @Body() priority: PriorityRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.priorities.setPriority(id, priority, caller);
  }

  /** Turns health checks off (tasks count as healthy) or on again, for good or for a while. */
  @Put('skip-healthchecks')
  @NeedsMember(['skipHealthchecks'], { nullClears: true, nothingClears: true })
  @NeedsAction('UPDATE_REQUEST')
  @ApiOkResponse({ type: RequestParentDto })
  skipHealthchecks(
    @Param('requestId') id: string,
    @Body() skip: SkipHealthchecksRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.skips.setSkip(id, skip, caller);
  }

  /** Older path of skip-healthchecks. */
  @Put('skipHealthchecks')
  @NeedsMember(['skipHealthchecks'], { nullClears: true, nothingClears: true })
  @NeedsAction('UPDATE_REQUEST')
  @ApiOkResponse({ type: RequestParentDto })
  @ApiOperation({ deprecated: true })
  skipHealthchecksByOldPath(
    @Param('requestId') id: string,
    @Body() skip: SkipHealthchecksRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.skips.setSkip(id, skip, caller);
  }
}

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
    return this.runs.run(id, run, query, caller);
  }

  /** The task that carries out a run. */
  @Get(':runId')
  @ApiOkResponse({ type: TaskIdDto })
  find(
    @Param('requestId') id: string,
    @Param('runId') runId: string,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskId> {
    return this.runs.findTask(id, runId, past);
  }
}

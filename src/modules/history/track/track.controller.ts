import { Controller, Get, Param } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { TimeRange } from '../../../core/authorization/index.js';
import { ReadablePast } from '../../../platform/http/caller.js';
import { Query } from '../../../platform/http/inputs.js';
import { TaskIdPipe } from '../../../platform/http/task-id.pipe.js';
import { TaskTrackingDto } from '../../tasks/dto/task-id.dto.js';
import { TrackRunQuery } from './track-run-query.dto.js';
import { TrackService } from './track.service.js';

@ApiTags('Task tracking')
@Controller('api/track')
export class TrackController {
  constructor(private readonly tracks: TrackService) {}

  /** Shows the present state of a task, active or ended. */
  @Get('task/:taskId')
  task(@Param('taskId', TaskIdPipe) taskId: string): Promise<TaskTrackingDto> {
    return this.tracks.task(taskId);
  }

  /** Shows the present state of a run: waiting, active or ended. */
  @Get('run/:requestId/:runId')
  run(
    @Param('requestId') requestId: string,
    @Param('runId') runId: string,
    @Query() { askedAt }: TrackRunQuery,
    @ReadablePast() past: TimeRange,
  ): Promise<TaskTrackingDto> {
    return this.tracks.run({ requestId, runId, askedAt }, past);
  }
}

import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../../core/authorization/index.js';
import { CallerUser } from '../../../platform/http/caller.js';
import { NeedsBody } from '../../../platform/http/bodies.js';
import { Body, Query } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { SchedulePreviewDto, SchedulePreviewRequestDto } from './schedule-preview.dto.js';
import { SchedulePreviews } from './schedule-previews.service.js';
import { UpcomingRunsDto, UpcomingRunsQuery } from './upcoming-runs.dto.js';
import { UpcomingRuns } from './upcoming-runs.service.js';

@ApiTags('Requests')
@Controller('api/schedules')
export class SchedulesController {
  constructor(
    private readonly upcoming: UpcomingRuns,
    private readonly previews: SchedulePreviews,
  ) {}

  /**
   * When SCHEDULED requests run by their schedules, between two times. Only requests that have a deploy and are not paused, and that the
   * caller may read. Of times that have passed those are told that lie after the last change of the request.
   */
  @Get('upcoming')
  @Since('muster')
  upcomingRuns(@Query() query: UpcomingRunsQuery, @CallerUser() user: User): Promise<UpcomingRunsDto> {
    return this.upcoming.find(query, user);
  }

  /**
   * The next times of a schedule with everything that bounds it, as a request that has it would run; times without a run are told with the
   * reason. Nothing is stored.
   */
  @Post('preview')
  @Since('muster')
  @NeedsBody()
  @ApiOkResponse({ type: SchedulePreviewDto })
  @HttpCode(200)
  previewSchedule(@Body() asked: SchedulePreviewRequestDto): SchedulePreviewDto {
    return this.previews.preview(asked);
  }
}

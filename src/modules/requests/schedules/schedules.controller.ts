import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { User } from '../../../core/authorization/index.js';
import { CallerUser } from '../../../platform/http/caller.js';
import { Query } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { UpcomingRunsDto, UpcomingRunsQuery } from './upcoming-runs.dto.js';
import { UpcomingRuns } from './upcoming-runs.service.js';

@ApiTags('Requests')
@Controller('api/schedules')
export class SchedulesController {
  constructor(private readonly upcoming: UpcomingRuns) {}

  /**
   * When SCHEDULED requests run by their schedules, between two times. Only requests that have a deploy and are not paused, and that the
   * caller may read. Of times that have passed those are told that lie after the last change of the request.
   */
  @Get('upcoming')
  @Since('muster')
  upcomingRuns(@Query() query: UpcomingRunsQuery, @CallerUser() user: User): Promise<UpcomingRunsDto> {
    return this.upcoming.find(query, user);
  }
}

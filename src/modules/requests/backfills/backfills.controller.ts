import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { NeedsBody } from '../../../platform/http/bodies.js';
import { type Caller, CallerUser } from '../../../platform/http/caller.js';
import { Body } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { BackfillDto, BackfillPlanDto, BackfillRequestDto } from './backfill.dto.js';
import { Backfills } from './backfills.service.js';

@ApiTags('Requests')
@Controller('api/requests/request/:requestId')
export class BackfillsController {
  constructor(private readonly backfills: Backfills) {}

  /**
   * Makes runs of planned times of the past, a few at a time and beside the runs of the schedule. Each time has at most one run unless
   * `force` is set.
   */
  @Post('backfill')
  @Since('muster')
  @NeedsBody()
  @ApiOkResponse({ type: BackfillDto })
  @HttpCode(200)
  backfill(
    @Param('requestId') requestId: string,
    @Body() asked: BackfillRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<BackfillDto> {
    return this.backfills.create(requestId, asked, caller);
  }

  /** Says how many runs a backfill would make. Changes nothing. */
  @Post('backfill/plan')
  @Since('muster')
  @NeedsBody()
  @ApiOkResponse({ type: BackfillPlanDto })
  @HttpCode(200)
  planBackfill(@Param('requestId') requestId: string, @Body() asked: BackfillRequestDto): Promise<BackfillPlanDto> {
    return this.backfills.plan(requestId, asked);
  }

  /** Lists the newest 100 backfills of a request, newest first, with how far each is. */
  @Get('backfills')
  @Since('muster')
  @ApiOkResponse({ type: [BackfillDto] })
  listBackfills(@Param('requestId') requestId: string): Promise<BackfillDto[]> {
    return this.backfills.list(requestId);
  }

  /** Says how far a backfill is, with each of its times. */
  @Get('backfill/:backfillId')
  @Since('muster')
  findBackfill(@Param('requestId') requestId: string, @Param('backfillId') backfillId: string): Promise<BackfillDto> {
    return this.backfills.find(requestId, backfillId);
  }

  /** Cancels a backfill: times that wait are not run; runs that have begun go on to their end. */
  @Delete('backfill/:backfillId')
  @Since('muster')
  @ApiOkResponse({ type: BackfillDto })
  cancelBackfill(@Param('requestId') requestId: string, @Param('backfillId') backfillId: string): Promise<BackfillDto> {
    return this.backfills.cancel(requestId, backfillId);
  }
}

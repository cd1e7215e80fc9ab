import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiConflictResponse, ApiTags } from '@nestjs/swagger';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { NotLeaderErrorDto } from './dto/not-leader-error.dto.js';
import { Failovers } from './failovers.service.js';

@ApiTags('Disasters')
@Controller('api/disasters')
export class FailoverController {
  constructor(private readonly failovers: Failovers) {}

  /** Makes the instance that is asked give its leadership up in favour of another. 409 names the leader when it is not this one. */
  @Post('failover')
  @HttpCode(200)
  @ApiConflictResponse({ type: NotLeaderErrorDto })
  failOver(@CallerUser() caller: Caller): Promise<void> {
    return this.failovers.failOver(caller);
  }
}

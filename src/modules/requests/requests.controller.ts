import { Controller, Delete, HttpCode, Param, Post, Res } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import type { Response } from 'express';
import type { Request, RequestParent } from '../../core/model/request.js';
import { Clock } from '../../platform/clock.js';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { NeedsBody, NeedsMember } from '../../platform/http/bodies.js';
import { type Caller, CallerUser } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { Deletions } from './actions/deletions.service.js';
import { DeleteRequestRequestDto, UpdateGroupsRequestDto } from './dto/actions.dto.js';
import { RequestParentDto } from './dto/request-parent.dto.js';
import { RequestDto } from './dto/request.dto.js';
import { RequestsService } from './requests.service.js';
import { warnOfTimes } from './timing-warning.js';

@ApiTags('Requests')
@Controller('api/requests')
export class RequestsController {
  constructor(
    private readonly requests: RequestsService,
    private readonly deletions: Deletions,
    private readonly clock: Clock,
  ) {}

  /** Creates a request, or replaces the stored one as a whole: members that are left out are cleared. */
  @Post()
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  async save(
    @Body() sent: RequestDto,
    @CallerUser() caller: User,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RequestParent> {
    const saved = await this.requests.saveRequest(RequestDto.toRequest(sent), caller);
    warnOfTimes(response, saved.request, this.clock.now());
    return saved;
  }

  /** Deletes a request: its tasks are killed, and when the last one is gone, so is the request. Its history stays. */
  @Delete('request/:requestId')
  @NeedsAction('REMOVE_REQUEST')
  @ApiOkResponse({ type: RequestDto })
  delete(
    @Param('requestId') requestId: string,
    @Body() options: DeleteRequestRequestDto,
    @CallerUser() caller: User,
  ): Promise<Request> {
    return this.deletions.delete(requestId, options, caller);
  }

  /** Replaces the groups that may see or change a request: all three members, of which the body names one at least. */
  @Post('request/:requestId/groups')
  @NeedsMember(['group', 'readWriteGroups', 'readOnlyGroups'], { nullClears: true })
  @NeedsAction('UPDATE_REQUEST')
  @NeedsBody()
  @ApiOkResponse({ type: RequestParentDto })
  @HttpCode(200)
  updateGroups(
    @Param('requestId') requestId: string,
    @Body() groups: UpdateGroupsRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<RequestParent> {
    return this.requests.updateGroups(requestId, groups, caller);
  }

  /** 200 if the caller may give the request these groups; else 401. Nothing is changed, and the request need not exist yet. */
  @Post('request/:requestId/groups/auth-check')
  @NeedsBody()
  @HttpCode(200)
  checkGroups(@Param('requestId') _requestId: string, @Body() _groups: UpdateGroupsRequestDto): void {
    // Who gets here may: what this operation needs of its caller stands with that of all others.
  }
}

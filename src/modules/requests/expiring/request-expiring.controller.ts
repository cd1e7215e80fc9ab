import { Controller, Delete, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { RequestParent } from '../../../core/model/request.js';
import { RequestParentDto } from '../dto/request-parent.dto.js';
import { ExpiringRemovals } from './expiring-removals.service.js';
import { Since } from '../../../platform/http/since.js';

@ApiTags('Requests')
@Controller('api/requests/request/:requestId')
export class RequestExpiringController {
  constructor(private readonly removals: ExpiringRemovals) {}

  /** Takes the time limit off a bounce; the bounce goes on. */
  @Delete('bounce')
  @ApiOkResponse({ type: RequestParentDto })
  bounce(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'BOUNCE');
  }

  /** Makes a pause that would end by itself permanent. */
  @Delete('pause')
  @ApiOkResponse({ type: RequestParentDto })
  pause(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'PAUSE');
  }

  /** Makes a number of instances that would be taken back permanent. */
  @Delete('scale')
  @ApiOkResponse({ type: RequestParentDto })
  scale(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'SCALE');
  }

  /** Makes a priority that would be taken back permanent. */
  @Delete('priority')
  @Since('1.5')
  @ApiOkResponse({ type: RequestParentDto })
  priority(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'PRIORITY');
  }

  /** Makes a skip of health checks that would be taken back permanent. */
  @Delete('skip-healthchecks')
  @ApiOkResponse({ type: RequestParentDto })
  skipHealthchecks(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'SKIP_HEALTHCHECKS');
  }

  /** Older path of skip-healthchecks. */
  @Delete('skipHealthchecks')
  @ApiOkResponse({ type: RequestParentDto })
  @ApiOperation({ deprecated: true })
  skipHealthchecksByOldPath(@Param('requestId') id: string): Promise<RequestParent> {
    return this.removals.remove(id, 'SKIP_HEALTHCHECKS');
  }
}

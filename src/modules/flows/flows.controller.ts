import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { FlowDto, FlowRerunDto, RequestFlowDto } from './flow.dto.js';
import { FlowReads } from './flow-reads.service.js';
import { FlowReruns } from './flow-reruns.service.js';

@ApiTags('Flows')
@Controller('api')
export class FlowsController {
  constructor(
    private readonly reads: FlowReads,
    private readonly reruns: FlowReruns,
  ) {}

  /** A flow: the runs that follow each other, from the one that nothing made on. It is there once that one has ended. */
  @Get('flows/:flowId')
  @Since('muster')
  @ApiOkResponse({ type: FlowDto })
  get(@Param('flowId') id: string, @CallerUser() user: User): Promise<FlowDto> {
    return this.reads.find(id, user);
  }

  /**
   * Runs a request once more in a flow, as it ran there last, and what follows it as if that were its first run. Refused while it, or
   * what follows it, goes on.
   */
  @Post('flows/:flowId/rerun')
  @Since('muster')
  @ApiOkResponse({ type: FlowDto })
  @HttpCode(200)
  rerun(@Param('flowId') id: string, @Body() rerun: FlowRerunDto, @CallerUser() user: User): Promise<FlowDto> {
    return this.reruns.rerun(id, rerun, user);
  }

  /** Who follows whom: the requests that are connected with this one by `after`, each with its newest run in a flow. */
  @Get('requests/request/:requestId/flow')
  @Since('muster')
  @ApiOkResponse({ type: RequestFlowDto })
  ofRequest(@Param('requestId') id: string, @CallerUser() user: User): Promise<RequestFlowDto> {
    return this.reads.around(id, user);
  }
}

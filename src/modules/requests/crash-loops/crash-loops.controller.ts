import { Controller, Get, Param } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { CrashLoopInfo } from '../../../core/model/crash-loop.js';
import { CrashLoops } from './crash-loops.service.js';
import { CrashLoopInfoDto } from './crash-loop.dto.js';

const listOfLoops = { type: 'array', items: { $ref: getSchemaPath(CrashLoopInfoDto) } } as const;

@ApiTags('Requests')
@ApiExtraModels(CrashLoopInfoDto)
@Controller('api/requests')
export class CrashLoopsController {
  constructor(private readonly crashLoops: CrashLoops) {}

  /** Crash loops of all requests that are in one or were not long ago, by request id. */
  @Get('crashloops')
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: listOfLoops } })
  all(): Promise<Record<string, CrashLoopInfo[]>> {
    return this.crashLoops.all();
  }

  /** Crash loops of the active deploy of a request, newest first; those that are over have an end. */
  @Get('request/:requestId/crashloops')
  @ApiOkResponse({ type: [CrashLoopInfoDto] })
  ofRequest(@Param('requestId') requestId: string): Promise<CrashLoopInfo[]> {
    return this.crashLoops.ofRequest(requestId);
  }
}

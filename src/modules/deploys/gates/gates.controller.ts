import { Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { User } from '../../../core/authorization/index.js';
import { NeedsAction } from '../../../platform/actions/needs-action.js';
import { CallerUser } from '../../../platform/http/caller.js';
import { Body } from '../../../platform/http/inputs.js';
import { Since } from '../../../platform/http/since.js';
import { AnswerGateDto, StepGateDto } from '../dto/gate.dto.js';
import { GateAnswers } from './gate-answers.service.js';

@ApiTags('Deploys')
@Controller('api/deploys/deploy/:deployId/request/:requestId')
export class GatesController {
  constructor(private readonly answers: GateAnswers) {}

  /** Approve the gate for which a deploy waits. Repeating it changes nothing. */
  @Post('approve')
  @Since('muster')
  @NeedsAction('DEPLOY')
  @HttpCode(200)
  @ApiOkResponse({ type: StepGateDto })
  approve(
    @Param('deployId') deployId: string,
    @Param('requestId') requestId: string,
    @Body() body: AnswerGateDto,
    @CallerUser() user: User,
  ): Promise<StepGateDto> {
    return this.answers.answer({ requestId, deployId }, { ...body, approves: true }, user);
  }

  /** Reject the gate for which a deploy waits: the deploy is rolled back. Repeating it changes nothing. */
  @Post('reject')
  @Since('muster')
  @HttpCode(200)
  @ApiOkResponse({ type: StepGateDto })
  reject(
    @Param('deployId') deployId: string,
    @Param('requestId') requestId: string,
    @Body() body: AnswerGateDto,
    @CallerUser() user: User,
  ): Promise<StepGateDto> {
    return this.answers.answer({ requestId, deployId }, { ...body, approves: false }, user);
  }
}

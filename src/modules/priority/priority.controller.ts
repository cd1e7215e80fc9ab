import { Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { PriorityFreezeDto, PriorityFreezeParentDto } from './priority-freeze.dto.js';
import { PriorityService } from './priority.service.js';

@ApiTags('Task priorities')
@Controller('api/priority/freeze')
export class PriorityController {
  constructor(private readonly priority: PriorityService) {}

  /** Shows the priority freeze in force. */
  @Get()
  find(): Promise<PriorityFreezeParentDto> {
    return this.priority.find();
  }

  /** Stops the start of tasks below a priority. Takes the place of a freeze in force. */
  @Post()
  @HttpCode(200)
  freeze(@Body() freeze: PriorityFreezeDto, @CallerUser() caller: Caller): Promise<PriorityFreezeParentDto> {
    return this.priority.freeze(freeze, caller);
  }

  /** Ends the priority freeze. Tasks that it has not killed yet stay. */
  @Delete()
  @HttpCode(202)
  end(): Promise<void> {
    return this.priority.end();
  }
}

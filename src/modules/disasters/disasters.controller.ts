import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { disasterTypes, type DisasterType } from '../../core/model/enums.js';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { DisastersService } from './disasters.service.js';
import {
  ActionParams,
  DisabledActionDto,
  DisabledActionRequestDto,
  DisasterParams,
  DisastersDataDto,
} from './dto/disasters.dto.js';

@ApiTags('Disasters')
@Controller('api/disasters')
export class DisastersController {
  constructor(private readonly disasters: DisastersService) {}

  /** Lists the disasters there are now. */
  @Get('active')
  @ApiOkResponse({ schema: { type: 'array', items: { type: 'string', enum: [...disasterTypes] } } })
  active(): Promise<DisasterType[]> {
    return this.disasters.active();
  }

  /** Declares a disaster, and switches off the actions configured for it. */
  @Post('active/:type')
  @HttpCode(204)
  activate(@Param() { type }: DisasterParams): Promise<void> {
    return this.disasters.activate(type);
  }

  /** Declares a disaster over. With the last one, actions that wait for that come back. */
  @Delete('active/:type')
  @HttpCode(204)
  deactivate(@Param() { type }: DisasterParams): Promise<void> {
    return this.disasters.deactivate(type);
  }

  /** Lists the actions that are switched off. */
  @Get('disabled-actions')
  disabledActions(): Promise<DisabledActionDto[]> {
    return this.disasters.disabledActions();
  }

  /** Switches an action off until it is enabled again; DEPLOY also for all but some groups. */
  @Post('disabled-actions/:action')
  @HttpCode(204)
  disableAction(
    @Param() { action }: ActionParams,
    @Body() { message, exceptGroups }: DisabledActionRequestDto,
    @CallerUser() caller: Caller,
  ): Promise<void> {
    return this.disasters.disable(action, { reason: message, exceptGroups }, caller);
  }

  /** Switches an action on again. */
  @Delete('disabled-actions/:action')
  @HttpCode(204)
  enableAction(@Param() { action }: ActionParams): Promise<void> {
    return this.disasters.enable(action);
  }

  /** Forbids the detection of disasters to switch actions off. */
  @Post('disable')
  @HttpCode(204)
  disableAutomatedActions(): Promise<void> {
    return this.disasters.setAutomated(false);
  }

  /** Lets the detection of disasters switch actions off. */
  @Post('enable')
  @HttpCode(204)
  enableAutomatedActions(): Promise<void> {
    return this.disasters.setAutomated(true);
  }

  /** Shows the figures that disasters are seen in, and which there are now. */
  @Get('stats')
  stats(): Promise<DisastersDataDto> {
    return this.disasters.stats();
  }
}

import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CallerUser, type Caller } from '../../platform/http/caller.js';
import { Since } from '../../platform/http/since.js';
import { LimitsDto, PlacementOverrideDto, StrategyParams } from './configuration.dto.js';
import { ConfigurationService } from './configuration.service.js';

@ApiTags('Configuration')
@Controller('api/configuration')
export class ConfigurationController {
  constructor(private readonly configuration: ConfigurationService) {}

  /** Shows limits that clients look at before they ask for something. */
  @Get('singularity-limits')
  @Since('1.5')
  limits(): LimitsDto {
    return this.configuration.limits();
  }

  /** Shows what holds for the placement of all requests. */
  @Get('placement')
  @Since('muster')
  placement(): Promise<PlacementOverrideDto> {
    return this.configuration.placement();
  }

  /** Lets rackSensitive of requests count again. */
  @Post('rack-sensitive/enable')
  @HttpCode(200)
  @Since('1.5')
  enableRackSensitivity(@CallerUser() caller: Caller): Promise<void> {
    return this.configuration.ignoreRackSensitivity(false, caller);
  }

  /** Places tasks as if no request were rackSensitive. */
  @Post('rack-sensitive/disable')
  @HttpCode(200)
  @Since('1.5')
  disableRackSensitivity(@CallerUser() caller: Caller): Promise<void> {
    return this.configuration.ignoreRackSensitivity(true, caller);
  }

  /** Places tasks of all requests by this strategy, whatever they ask for. Tasks that run stay where they are. */
  @Post('placement-strategy/override/set/:strategy')
  @HttpCode(200)
  @Since('1.5')
  setStrategy(@Param() { strategy }: StrategyParams, @CallerUser() caller: Caller): Promise<void> {
    return this.configuration.setStrategy(strategy, caller);
  }

  /** Places tasks by the strategy of their request again. */
  @Post('placement-strategy/override/clear')
  @HttpCode(200)
  @Since('1.5')
  clearStrategy(@CallerUser() caller: Caller): Promise<void> {
    return this.configuration.setStrategy(null, caller);
  }
}

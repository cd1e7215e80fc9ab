import { Controller, Delete, Get, HttpCode, Post, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { NeedsBody, NeedsMember } from '../../platform/http/bodies.js';
import { type Caller, CallerUser } from '../../platform/http/caller.js';
import { Body } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { PreferencesDto, UserSettingsDto } from './user-settings.dto.js';
import { UsersService } from './users.service.js';

@ApiTags('Users')
@Controller('api/users/settings')
export class UsersController {
  constructor(private readonly users: UsersService) {}

  /** Shows what the caller has chosen. All who do not say who they are share one choice. */
  @Get()
  find(@CallerUser() caller: Caller): Promise<UserSettingsDto> {
    return this.users.find(caller);
  }

  /** Replaces the requests that the caller cares for. */
  @Post()
  @NeedsMember(['starredRequestIds'], { nullClears: true })
  @NeedsBody()
  @HttpCode(204)
  replace(@Body() { starredRequestIds = [] }: UserSettingsDto, @CallerUser() caller: Caller): Promise<void> {
    return this.users.replace(caller, starredRequestIds);
  }

  /** Adds requests to those the caller cares for. */
  @Post('starred-requests')
  @NeedsBody()
  @HttpCode(204)
  star(@Body() { starredRequestIds = [] }: UserSettingsDto, @CallerUser() caller: Caller): Promise<void> {
    return this.users.star(caller, starredRequestIds);
  }

  /** Takes requests off those the caller cares for. */
  @Delete('starred-requests')
  @NeedsBody()
  @HttpCode(204)
  unstar(@Body() { starredRequestIds = [] }: UserSettingsDto, @CallerUser() caller: Caller): Promise<void> {
    return this.users.unstar(caller, starredRequestIds);
  }

  /** Replaces what programs keep for the caller, such as the views that they have saved on the dashboard. */
  @Put('preferences')
  @Since('muster')
  @NeedsMember(['preferences'], { nullClears: true })
  @NeedsBody()
  @HttpCode(204)
  prefer(@Body() { preferences }: PreferencesDto, @CallerUser() caller: Caller): Promise<void> {
    return this.users.prefer(caller, preferences);
  }
}

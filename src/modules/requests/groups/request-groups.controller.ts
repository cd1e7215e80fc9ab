import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Body, Query } from '../../../platform/http/inputs.js';
import { CacheQuery } from '../dto/queries.dto.js';
import { RequestGroupDto } from './request-group.dto.js';
import { RequestGroupsService } from './request-groups.service.js';

@ApiTags('Request groups')
@Controller('api/groups')
export class RequestGroupsController {
  constructor(private readonly groups: RequestGroupsService) {}

  /** Lists all groups in the order of their ids. */
  @Get()
  list(@Query() _query: CacheQuery): Promise<RequestGroupDto[]> {
    return this.groups.list();
  }

  /** Creates a group, or replaces the stored one as a whole. */
  @Post()
  @HttpCode(200)
  @ApiOkResponse({ type: RequestGroupDto })
  save(@Body() group: RequestGroupDto): Promise<RequestGroupDto> {
    return this.groups.save(group);
  }

  /** One group. */
  @Get('group/:requestGroupId')
  one(@Param('requestGroupId') id: string): Promise<RequestGroupDto> {
    return this.groups.one(id);
  }

  /** Deletes a group; its requests stay. No effect if there is none. */
  @Delete('group/:requestGroupId')
  remove(@Param('requestGroupId') id: string): Promise<void> {
    return this.groups.remove(id);
  }
}

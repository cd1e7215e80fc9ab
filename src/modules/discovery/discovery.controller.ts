import { Controller, Get, Header, Param } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { EndpointsQuery, ProxyFormatParams, ServiceEndpointsDto, ServicesQuery } from './discovery.dto.js';
import { ServiceReads } from './service-reads.service.js';

@ApiTags('Services')
@Controller('api/services')
export class DiscoveryController {
  constructor(private readonly services: ServiceReads) {}

  /** Shows where calls of a service go: its healthy tasks, without those that are being ended. */
  @Get(':requestId/endpoints')
  @Since('muster')
  @ApiOkResponse({ type: ServiceEndpointsDto })
  endpoints(
    @Param('requestId') requestId: string,
    @Query() { all }: EndpointsQuery,
    @CallerUser() user: User,
  ): Promise<ServiceEndpointsDto> {
    return this.services.one(requestId, user, all);
  }

  /** Shows the same of several services, in the order of their ids. */
  @Get('endpoints')
  @Since('muster')
  @ApiOkResponse({ type: [ServiceEndpointsDto] })
  list(@Query() query: ServicesQuery, @CallerUser() user: User): Promise<ServiceEndpointsDto[]> {
    return this.services.list(query, user);
  }

  /**
   * Writes the endpoints of services as a proxy reads them. TRAEFIK takes, unless services are named, those whose active deploy has a
   * serviceBasePath or loadBalancerDomains.
   */
  @Get('endpoints/:format')
  @Since('muster')
  @Header('Content-Type', 'text/plain; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  configuration(
    @Param() { format }: ProxyFormatParams,
    @Query() query: ServicesQuery,
    @CallerUser() user: User,
  ): Promise<string> {
    return this.services.configuration(format, query, user);
  }
}

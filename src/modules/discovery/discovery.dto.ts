import { ApiProperty } from '@nestjs/swagger';
import {
  type Endpoint,
  type LeftOutReason,
  leftOutReasons,
  type LeftOutTask,
  type ProxyFormat,
  proxyFormats,
} from '../../core/discovery/index.js';
import { PathWord, QueryBoolean, QueryText, QueryTexts } from '../../platform/http/query.js';

const count = { type: 'integer', format: 'int32' } as const;

/** Extent of the answer about one service. */
export class EndpointsQuery {
  /** Tell of tasks that get no calls, too, and why. Default: false. */
  @QueryBoolean()
  all?: boolean;
}

/** Selects services. */
export class ServicesQuery {
  /** Ids of services. Default: every SERVICE that the caller may read. */
  @QueryTexts('name')
  requestId?: string[];

  /** Only services whose active deploy has this group in loadBalancerGroups. */
  @QueryText('name')
  loadBalancerGroup?: string;
}

/** Names the program for which a text is written. */
export class ProxyFormatParams {
  /** NGINX: upstreams, HAPROXY: backends, ENVOY: an EDS file, TRAEFIK: dynamic configuration for its HTTP provider. */
  @PathWord(proxyFormats)
  format: ProxyFormat;
}

class TaskPlaceDto {
  /** Id of the task. */
  taskId: string;
  /** Id of its deploy. */
  deployId: string;
  /** Number of the instance, from 1. */
  @ApiProperty(count)
  instanceNo: number;
  /** Host name or address of its machine, as the machine gave it; an endpoint has the shortest form of an address of IPv6. */
  host: string;
  /** Id of its machine. */
  slaveId: string;
  /** Rack of its machine. */
  rackId: string;
  /** All ports of the task: the first is PORT0 of its environment, the second PORT1. */
  @ApiProperty({ type: 'array', items: count })
  ports: number[];
}

/** A task that gets calls: it is healthy, and is not being ended. */
export class EndpointDto extends TaskPlaceDto implements Endpoint {
  /** Port for calls: the one that loadBalancerPortIndex of its deploy names, else the first. */
  @ApiProperty(count)
  port: number;
  /** Time from which it counts as healthy, in epoch milliseconds. That its liveness failed in between is not kept. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  healthySince: number;
}

/** A task that gets no calls. */
export class LeftOutTaskDto extends TaskPlaceDto implements LeftOutTask {
  /** The reason why. */
  @ApiProperty({ enum: leftOutReasons, enumName: 'LeftOutReason' })
  reason: LeftOutReason;
  /** The reason, for people. */
  message: string;
}

/** Tasks of a service that get calls. */
export class ServiceEndpointsDto {
  /** Id of the service. */
  requestId: string;
  /** In the order of instances. */
  endpoints: EndpointDto[];
  /** Tasks that get no calls; only if `all` asks for them. */
  leftOut?: LeftOutTaskDto[];
}

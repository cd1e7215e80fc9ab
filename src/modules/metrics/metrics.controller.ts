import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import { MetricsContainerDto } from './dto/metrics.dto.js';
import { MetricsService } from './metrics.service.js';

@ApiTags('Metrics')
@Controller()
export class MetricsController {
  constructor(private readonly metrics: MetricsService) {}

  /** Shows the figures of this instance and of the service. */
  @Get('api/metrics')
  json(): Promise<MetricsContainerDto> {
    return this.metrics.json();
  }

  /** Shows how many bytes the ids of requests, of live tasks and of tasks of the history take. Of a long history: about. */
  @Get('api/metrics/zk-bytes')
  @ApiOkResponse({ schema: { type: 'object', additionalProperties: { type: 'integer', format: 'int64' } } })
  idBytes(): Promise<Record<string, number>> {
    return this.metrics.idBytes();
  }

  /** Writes the metrics in the notation of Prometheus. */
  @Get('metrics')
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiProduces('text/plain')
  @ApiOkResponse({ schema: { type: 'string' } })
  text(): Promise<string> {
    return this.metrics.text();
  }
}

import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { RequestHistoryDto } from '../history/dto/request-history.dto.js';
import { TaskHistoryUpdateDto } from '../tasks/dto/task-update.dto.js';
import { DeployUpdateDto } from './dto/deploy-update.dto.js';
import { AnyWebhookQuery, WebhookQuery } from './dto/webhook.dto.js';
import { Webhooks } from './webhooks.service.js';

/** What waits to be delivered. Reading it changes nothing. */
@ApiTags('Webhooks')
@Controller('api/webhooks')
@NeedsAction('VIEW_WEBHOOKS')
export class WebhookQueuesController {
  constructor(private readonly webhooks: Webhooks) {}

  /** Lists the deploy updates that wait for a webhook. */
  @Get('deploy')
  deploys(@Query() { webhookId }: WebhookQuery): Promise<DeployUpdateDto[]> {
    return this.webhooks.queue('DEPLOY', webhookId);
  }

  /** Lists the request updates that wait for a webhook, or for all of them. */
  @Get('request')
  requests(@Query() { webhookId }: AnyWebhookQuery): Promise<RequestHistoryDto[]> {
    return this.webhooks.queue('REQUEST', webhookId);
  }

  /** Lists the task updates that wait for a webhook. */
  @Get('task')
  tasks(@Query() { webhookId }: WebhookQuery): Promise<TaskHistoryUpdateDto[]> {
    return this.webhooks.queue('TASK', webhookId);
  }

  /** Lists the deploy updates that wait for a webhook. */
  @Get('deploy/:webhookId')
  @ApiOperation({ deprecated: true })
  deploysByPath(@Param('webhookId') webhookId: string): Promise<DeployUpdateDto[]> {
    return this.webhooks.queue('DEPLOY', webhookId);
  }

  /** Lists the request updates that wait for a webhook. */
  @Get('request/:webhookId')
  @ApiOperation({ deprecated: true })
  requestsByPath(@Param('webhookId') webhookId: string): Promise<RequestHistoryDto[]> {
    return this.webhooks.queue('REQUEST', webhookId);
  }

  /** Lists the task updates that wait for a webhook. */
  @Get('task/:webhookId')
  @ApiOperation({ deprecated: true })
  tasksByPath(@Param('webhookId') webhookId: string): Promise<TaskHistoryUpdateDto[]> {
    return this.webhooks.queue('TASK', webhookId);
  }
}

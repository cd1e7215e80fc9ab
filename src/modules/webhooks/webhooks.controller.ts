import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { NeedsAction } from '../../platform/actions/needs-action.js';
import { Body, Query } from '../../platform/http/inputs.js';
import { RequestHistoryDto } from '../history/dto/history.dto.js';
import { pageBounds } from '../history/paging.js';
import { TaskHistoryUpdateDto } from '../tasks/dto/task-id.dto.js';
import {
  AnyWebhookQuery,
  DeadLetterDto,
  DeadLetterQuery,
  DeployUpdateDto,
  ElevatedAccessEventDto,
  ResendQuery,
  ResentDto,
  WebhookDto,
  WebhookQuery,
  WebhookResultDto,
  WebhookSummaryDto,
} from './webhooks.dto.js';
import { Webhooks } from './webhooks.service.js';
import { Since } from '../../platform/http/since.js';

/** Lists waiting updates and dead letters. Reading them changes nothing. */
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

  /** Lists the uses of elevated access that a webhook is to be told of. */
  @Get('elevated-access')
  @Since('1.5')
  elevatedAccess(@Query() { webhookId }: WebhookQuery): Promise<ElevatedAccessEventDto[]> {
    return this.webhooks.queue('ELEVATED_ACCESS', webhookId);
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

@ApiTags('Webhooks')
@Controller('api/webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: Webhooks) {}

  /** Lists the registered webhooks. */
  @Get()
  @NeedsAction('VIEW_WEBHOOKS')
  list(): Promise<WebhookDto[]> {
    return this.webhooks.list();
  }

  /** Registers a webhook. One that exists (same type and uri) is left as it is. */
  @Post()
  @NeedsAction('ADD_WEBHOOK')
  @HttpCode(200)
  @ApiOkResponse({ schema: { type: 'string', enum: ['CREATED', 'EXISTED'] } })
  register(@Body() webhook: WebhookDto): Promise<string> {
    return this.webhooks.register(webhook);
  }

  /** Removes a webhook with all that waits for it. */
  @Delete()
  @NeedsAction('REMOVE_WEBHOOK')
  @ApiOkResponse({ schema: { type: 'string', enum: ['DELETED', 'DIDNT_EXIST'] } })
  remove(@Query() { webhookId }: WebhookQuery): Promise<string> {
    return this.webhooks.remove(webhookId);
  }

  /** Removes a webhook with all that waits for it. */
  @Delete(':webhookId')
  @NeedsAction('REMOVE_WEBHOOK')
  @ApiOperation({ deprecated: true })
  @ApiOkResponse({ schema: { type: 'string', enum: ['DELETED', 'DIDNT_EXIST'] } })
  removeByPath(@Param('webhookId') webhookId: string): Promise<string> {
    return this.webhooks.remove(webhookId);
  }

  /** Lists the webhooks with the number of updates that wait for each. */
  @Get('summary')
  @NeedsAction('VIEW_WEBHOOKS')
  summary(): Promise<WebhookSummaryDto[]> {
    return this.webhooks.summary();
  }

  /** Lists updates that were given up, newest first. */
  @Get('dead-letters')
  @Since('muster')
  @NeedsAction('VIEW_WEBHOOKS')
  deadLetters(@Query() query: DeadLetterQuery): Promise<DeadLetterDto[]> {
    const { count, offset } = pageBounds(query);
    return this.webhooks.deadLetters(query.webhookId, count, offset);
  }

  /** Has updates that were given up wait again, the oldest first, and gives their webhook another chance at once. */
  @Post('dead-letters/resend')
  @Since('muster')
  @NeedsAction('ADD_WEBHOOK')
  @HttpCode(200)
  async resend(@Query() { webhookId, id }: ResendQuery): Promise<ResentDto> {
    return { queued: await this.webhooks.resend(webhookId, id) };
  }

  /** Sends a webhook an update about nothing, at once, and tells what became of it. It has ten seconds. */
  @Post('test')
  @Since('muster')
  @NeedsAction('VIEW_WEBHOOKS')
  @HttpCode(200)
  test(@Query() { webhookId }: WebhookQuery): Promise<WebhookResultDto> {
    return this.webhooks.test(webhookId);
  }
}

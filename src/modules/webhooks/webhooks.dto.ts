import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isSigningKey } from '../../core/base64.js';
import type { DeployUpdate } from '../../core/model/deploy.js';
import { type WebhookType, webhookTypes } from '../../core/model/enums.js';
import { type AccessScope, accessScopes } from '../../core/authorization/index.js';
import type { ElevatedAccessEvent, Webhook, WebhookResult } from '../../core/model/webhook.js';
import { is, OneOf, Timestamp, Text } from '../../platform/http/fields.js';
import { QueryInt, QueryInts, QueryText } from '../../platform/http/query.js';
import { DeployDto } from '../deploys/dto/deploy.dto.js';
import { DeployMarkerDto } from '../deploys/dto/pending-deploy.dto.js';
import { DeployResultDto } from '../deploys/dto/deploy-history.dto.js';
import type { DeadLetter } from './webhooks.service.js';
import { Since } from '../../platform/http/since.js';

const isHttpUri = (value: unknown): boolean => {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  return ['http:', 'https:'].includes(new URL(value).protocol);
};

/** Limit for the encoded form, which is part of the id and has to fit into an index. */
const longestUri = 2_500;
const fitsIntoId = (value: unknown): boolean =>
  typeof value !== 'string' || encodeURIComponent(value).length <= longestUri;

/** The page of version 1.5 sends the words as it shows them. */
const readType = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll(' ', '_') : value);

/** They would be shown to all who may see the webhook, and are not sent. */
const hasNoCredentials = (value: unknown): boolean => {
  if (typeof value !== 'string' || !URL.canParse(value)) return true;
  const { username, password } = new URL(value);
  return username === '' && password === '';
};

/** A receiver of updates. */
export class WebhookDto implements Partial<Webhook> {
  /**
   * Address to which updates are posted. In it $REQUEST_ID, $DEPLOY_ID, $TASK_ID, $USER_ID and $SCOPE are filled in, as
   * far as an update has them.
   */
  @is('credentials', 'must be without user and password: give the webhook a secret instead', hasNoCredentials)
  @is('uri', 'must be an http or https URI', isHttpUri)
  @is('encodedLength', `must have at most ${longestUri} characters once it is encoded`, fitsIntoId)
  @Text('uri')
  uri: string;
  /**
   * Kind of updates that it receives. ELEVATED_ACCESS is an addition of version 1.5; a blank is read as its underscore.
   */
  @Transform(({ value }: { value: unknown }) => readType(value))
  @OneOf(webhookTypes, 'WebhookType')
  type: WebhookType;
  /** Time of its registration, in epoch milliseconds; default: now. */
  @IsOptional()
  @Timestamp()
  timestamp?: number;
  /** User who registered it. */
  @IsOptional()
  @Text('name')
  user?: string;
  /** Key for the signatures of its deliveries (Standard Webhooks), plain or as whsec_ with Base64. Never shown again. */
  @Since('muster')
  @ApiProperty({ writeOnly: true })
  @IsOptional()
  @is('base64', 'must be base64 behind whsec_', (value) => typeof value !== 'string' || isSigningKey(value))
  @Text('uri')
  secret?: string;
  /** The type and the encoded uri. One that is sent is ignored. */
  @ApiProperty({ readOnly: true })
  id?: string;
}

/** Result of a delivery. */
export class WebhookResultDto implements WebhookResult {
  /** Time at which it ended, in epoch milliseconds; of a test: at which it began. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;

  /** True if the receiver took it. */
  delivered: boolean;

  /** Reason for which it did not. */
  error?: string;
}

/** A webhook and how much waits for it. */
export class WebhookSummaryDto {
  /** The webhook. */
  webhook: WebhookDto;
  /** Number of updates that have not been delivered yet. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  queueSize: number;

  /** Result of the newest delivery; absent: there was none. */
  @Since('muster')
  lastResult?: WebhookResultDto;
}

/** An update that was given up: its webhook could not be reached for too long. */
export class DeadLetterDto implements DeadLetter {
  /** Number of the update; greater ones were queued later. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  id: number;
  /** The webhook it was for. */
  webhookId: string;
  /** Key of the record that the update is about. */
  updateKey: string;
  /** Time of that event, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  eventAt: number;
  /** Time at which it was given up, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  deadAt: number;
  /** Number of attempts to send it. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  attempts: number;
  /** Error of the last attempt. */
  lastError?: string;
  /** Body that was to be posted. */
  @ApiProperty({ type: 'object', additionalProperties: true })
  body: unknown;
}

/** Selects a webhook. */
export class WebhookQuery {
  /** Its id, as stored or as the type, a dash and the plain uri. */
  @Text('uri')
  webhookId: string;
}

/** Selects dead letters. */
export class ResendQuery extends WebhookQuery {
  /** Numbers of updates, at most 1000; default: all of the webhook. */
  @QueryInts()
  id?: number[];
}

/** Number of updates that wait again. */
export class ResentDto {
  /** Dead letters that are gone because a newer update of their kind waits are not counted. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  queued: number;
}

/** Selects a webhook, or all of them. */
export class AnyWebhookQuery {
  /** Its id, as stored or as the type, a dash and the plain uri; absent: all webhooks. */
  @QueryText('uri')
  webhookId?: string;
}

/** Selects a webhook, and a part of the list. */
export class DeadLetterQuery extends AnyWebhookQuery {
  /** Number of entries to answer, at most 1000; default 100. */
  @QueryInt()
  count?: number;
  /** Number of the page, from 1. */
  @QueryInt()
  page?: number;
}

/** The start or the end of a deploy. */
export class DeployUpdateDto implements DeployUpdate {
  /** Ids of the deploy, and the user who started it. */
  deployMarker: DeployMarkerDto;
  /** The deploy itself. */
  deploy?: DeployDto;
  /** STARTING when the deploy was accepted, FINISHED when it has ended, however. */
  @ApiProperty({ enum: ['STARTING', 'FINISHED'] })
  eventType: 'STARTING' | 'FINISHED';
  /** Result of the deploy. */
  deployResult?: DeployResultDto;
}

/** A caller used a right beyond that of the groups of a request. */
export class ElevatedAccessEventDto implements ElevatedAccessEvent {
  /** Id of the caller. */
  user: string;
  /** The request that was read or changed. */
  requestId: string;
  /** Access that was used. */
  @ApiProperty({ enum: accessScopes })
  scope: AccessScope;
  /** Time of the access, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
}

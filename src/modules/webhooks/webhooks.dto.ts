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
import { DeployResultDto } from '../history/dto/history.dto.js';
import type { DeadLetter } from './webhooks.service.js';
import { Since } from '../../platform/http/since.js';

const isHttpUri = (value: unknown): boolean => {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  return ['http:', 'https:'].includes(new URL(value).protocol);
};

/** Of its encoded form, which stands in the id and has to fit into an index. */
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
  /** Where updates are posted to. In it $REQUEST_ID, $DEPLOY_ID, $TASK_ID, $USER_ID and $SCOPE are filled in, as far as an update has them. */
  @is('credentials', 'must be without user and password: give the webhook a secret instead', hasNoCredentials)
  @is('uri', 'must be an http or https URI', isHttpUri)
  @is('encodedLength', `must have at most ${longestUri} characters once it is encoded`, fitsIntoId)
  @Text('uri')
  uri: string;
  /** What it is told of. ELEVATED_ACCESS is an addition of version 1.5; a blank is read as its underscore. */
  @Transform(({ value }: { value: unknown }) => readType(value))
  @OneOf(webhookTypes, 'WebhookType')
  type: WebhookType;
  /** When it was registered, in epoch milliseconds; default: now. */
  @IsOptional()
  @Timestamp()
  timestamp?: number;
  /** Who registered it. */
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

/** What became of a delivery. */
export class WebhookResultDto implements WebhookResult {
  /** When it ended, in epoch milliseconds; of a test: when it began. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;

  /** Whether the receiver took it. */
  delivered: boolean;

  /** Why it did not. */
  error?: string;
}

/** A webhook and how much waits for it. */
export class WebhookSummaryDto {
  /** The webhook. */
  webhook: WebhookDto;
  /** Number of updates that have not been delivered yet. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  queueSize: number;

  /** What became of the newest delivery; absent: there was none. */
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
  /** What it tells of. */
  updateKey: string;
  /** When that happened, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  eventAt: number;
  /** When it was given up, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  deadAt: number;
  /** How many times it was sent. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  attempts: number;
  /** Why the last attempt failed. */
  lastError?: string;
  /** What was to be posted. */
  @ApiProperty({ type: 'object', additionalProperties: true })
  body: unknown;
}

/** Which webhook. */
export class WebhookQuery {
  /** Its id, as stored or as the type, a dash and the plain uri. */
  @Text('uri')
  webhookId: string;
}

/** Which dead letters. */
export class ResendQuery extends WebhookQuery {
  /** Numbers of updates, at most 1000; default: all of the webhook. */
  @QueryInts()
  id?: number[];
}

/** How many updates wait again. */
export class ResentDto {
  /** Dead letters that are gone because a newer update of their kind waits are not counted. */
  @ApiProperty({ type: 'integer', format: 'int32' })
  queued: number;
}

/** Which webhook, or all of them. */
export class AnyWebhookQuery {
  /** Its id, as stored or as the type, a dash and the plain uri; absent: all webhooks. */
  @QueryText('uri')
  webhookId?: string;
}

/** Which webhook, and which part of the list. */
export class DeadLetterQuery extends AnyWebhookQuery {
  /** How many to answer, at most 1000; default 100. */
  @QueryInt()
  count?: number;
  /** Which page, from 1. */
  @QueryInt()
  page?: number;
}

/** The start or the end of a deploy. */
export class DeployUpdateDto implements DeployUpdate {
  /** Which deploy it is, and who started it. */
  deployMarker: DeployMarkerDto;
  /** What is deployed. */
  deploy?: DeployDto;
  /** STARTING when the deploy was accepted, FINISHED when it has ended, however. */
  @ApiProperty({ enum: ['STARTING', 'FINISHED'] })
  eventType: 'STARTING' | 'FINISHED';
  /** How it ended. */
  deployResult?: DeployResultDto;
}

/** A caller used a right beyond that of the groups of a request. */
export class ElevatedAccessEventDto implements ElevatedAccessEvent {
  /** Id of the caller. */
  user: string;
  /** The request that was read or changed. */
  requestId: string;
  /** What was done with it. */
  @ApiProperty({ enum: accessScopes })
  scope: AccessScope;
  /** When, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  createdAt: number;
}

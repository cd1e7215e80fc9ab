import type { Deploy } from './deploy.js';
import type { DeployMarker } from './deploy-progress.js';
import type { DeployResult } from './history.js';
import { type Int32, type Int64, record } from '../schema.js';

/** What a webhook is told of. ELEVATED_ACCESS is an addition of version 1.5. */
export type WebhookType = 'TASK' | 'REQUEST' | 'DEPLOY' | 'CRASHLOOP' | 'ELEVATED_ACCESS';

/** A receiver of updates. */
export interface Webhook {
  /**
   * Where updates are posted to. In it $REQUEST_ID, $DEPLOY_ID, $TASK_ID, $USER_ID and $SCOPE are filled in, as far
   * as an update has them.
   */
  uri: string;
  /** What it is told of. ELEVATED_ACCESS is an addition of version 1.5; a blank is read as its underscore. */
  type: WebhookType;
  /** When it was registered, in epoch milliseconds; default: now. */
  timestamp?: Int64;
  /** Who registered it. */
  user?: string;
  /**
   * Key for the signatures of its deliveries (Standard Webhooks), plain or as whsec_ with Base64. Never shown again.
   * An addition of Muster.
   */
  secret?: string;
  /** The type and the encoded uri. One that is sent is ignored. */
  id?: string;
}
export const Webhook = record<Webhook>('Webhook');

/** What became of a delivery. */
export interface WebhookResult {
  /** When it ended, in epoch milliseconds; of a test: when it began. */
  at: Int64;
  /** Whether the receiver took it. */
  delivered: boolean;
  /** Why it did not. */
  error?: string;
}
export const WebhookResult = record<WebhookResult>('WebhookResult');

/** A webhook and how much waits for it. */
export interface WebhookSummary {
  /** Number of updates that have not been delivered yet. */
  queueSize: Int32;
  /** What became of the newest delivery; absent: there was none. An addition of Muster. */
  lastResult?: WebhookResult;
  /** The webhook. */
  webhook: Webhook;
}
export const WebhookSummary = record<WebhookSummary>('WebhookSummary');

/** An update that was given up: its webhook could not be reached for too long. */
export interface DeadLetter {
  /** Number of the update; greater ones were queued later. */
  id: Int64;
  /** When that happened, in epoch milliseconds. */
  eventAt: Int64;
  /** When it was given up, in epoch milliseconds. */
  deadAt: Int64;
  /** How many times it was sent. */
  attempts: Int32;
  /** What was to be posted. */
  body: Record<string, unknown>;
  /** The webhook it was for. */
  webhookId: string;
  /** What it tells of. */
  updateKey: string;
  /** Why the last attempt failed. */
  lastError?: string;
}
export const DeadLetter = record<DeadLetter>('DeadLetter');

/** How many updates wait again. */
export interface Resent {
  /** Dead letters that are gone because a newer update of their kind waits are not counted. */
  queued: Int32;
}
export const Resent = record<Resent>('Resent');

/** The start or the end of a deploy. */
export interface DeployUpdate {
  /** STARTING when the deploy was accepted, FINISHED when it has ended, however. */
  eventType: 'STARTING' | 'FINISHED';
  /** Which deploy it is, and who started it. */
  deployMarker: DeployMarker;
  /** What is deployed. */
  deploy?: Deploy;
  /** How it ended. */
  deployResult?: DeployResult;
}
export const DeployUpdate = record<DeployUpdate>('DeployUpdate');

/** A caller used a right beyond that of the groups of a request. */
export interface ElevatedAccessEvent {
  /** What was done with it. */
  scope: 'READ' | 'WRITE' | 'DEPLOY' | 'ADMIN';
  /** When, in epoch milliseconds. */
  createdAt: Int64;
  /** Id of the caller. */
  user: string;
  /** The request that was read or changed. */
  requestId: string;
}
export const ElevatedAccessEvent = record<ElevatedAccessEvent>('ElevatedAccessEvent');

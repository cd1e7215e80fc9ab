import type { AccessScope } from '../authorization/index.js';
import type { WebhookType } from './enums.js';

export interface Webhook {
  uri: string;
  timestamp: number;
  user?: string;
  type: WebhookType;
  id: string;
}

/** A caller used a right beyond that of the groups of a request. */
export interface ElevatedAccessEvent {
  /** Their id. */
  user: string;
  requestId: string;
  scope: AccessScope;
  /** Epoch milliseconds. */
  createdAt: number;
}

/** Result of a delivery. */
export interface WebhookResult {
  /** Epoch milliseconds. */
  at: number;
  delivered: boolean;
  /** Reason why it was not accepted. */
  error?: string;
}

export interface WebhookSummary {
  webhook: Webhook;
  queueSize: number;
  /** Result of the newest delivery; absent: there was none. */
  lastResult?: WebhookResult;
}

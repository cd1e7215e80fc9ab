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

export interface WebhookSummary {
  webhook: Webhook;
  queueSize: number;
}

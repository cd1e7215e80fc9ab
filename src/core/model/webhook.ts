import type { WebhookType } from './enums.js';

export interface Webhook {
  uri: string;
  timestamp: number;
  user?: string;
  type: WebhookType;
  id: string;
}

export interface WebhookSummary {
  webhook: Webhook;
  queueSize: number;
}

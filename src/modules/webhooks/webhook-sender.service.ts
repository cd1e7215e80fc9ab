import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import { fillPlaceholders } from '../../core/webhooks/delivery.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

export interface Delivery {
  /** The same for every attempt to deliver the same update. */
  id: string;
  uri: string;
  placeholders: Record<string, string>;
  body: unknown;
  secret?: string;
}

/** Why a receiver did not take it, or nothing. */
type DeliveryProblem = string | undefined;

/** Posts one update to one receiver. Follows no redirects: they would carry the update to a receiver that was never registered. */
@Injectable()
export class WebhookSender implements OnApplicationShutdown {
  private readonly agent: Agent;
  private readonly wholeMillis: number;
  private readonly signingSecret: string | undefined;

  constructor(@Inject(SETTINGS) { webhooks }: Settings) {
    this.wholeMillis = webhooks.requestTimeoutMillis;
    this.signingSecret = webhooks.signingSecret;
    this.agent = new Agent({ connect: { timeout: webhooks.connectTimeoutMillis } });
  }

  async send(delivery: Delivery, now: number, signal: AbortSignal): Promise<DeliveryProblem> {
    const body = JSON.stringify(delivery.body);
    const secret = delivery.secret ?? this.signingSecret;
    const timeout = AbortSignal.timeout(this.wholeMillis);
    try {
      const answer = await request(fillPlaceholders(delivery.uri, delivery.placeholders), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(secret === undefined ? {} : signature(delivery.id, now, body, secret)),
        },
        body,
        dispatcher: this.agent,
        signal: AbortSignal.any([signal, timeout]),
      });
      await answer.body.dump();
      return answer.statusCode >= 200 && answer.statusCode <= 299 ? undefined : `It answered ${answer.statusCode}`;
    } catch (cause) {
      if (timeout.aborted) return `It did not answer within ${this.wholeMillis} ms`;
      return cause instanceof Error ? cause.message : String(cause);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.agent.destroy();
  }
}

/** Headers of Standard Webhooks: a receiver that knows the secret can tell that the update is ours, whole and recent. */
export function signature(id: string, now: number, body: string, secret: string): Record<string, string> {
  const timestamp = Math.floor(now / 1000);
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signed}` };
}

import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import { Agent, buildConnector, request } from 'undici';
import { base64Secret } from '../../core/base64.js';
import { fillPlaceholders } from '../../core/webhooks/delivery.js';
import { lookUpWithin, refuseForeign, type TargetRules } from '../../platform/guarded-lookup.js';
import { withEmbeddedTexts } from '../../platform/http/legacy-names.js';
import { Metrics } from '../../platform/metrics/metrics.js';
import { Targets } from '../../platform/targets.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { withSignal } from '../../platform/async.js';

export interface Delivery {
  /** Equal for every attempt to deliver the same update. */
  id: string;
  uri: string;
  placeholders: Record<string, string>;
  body: unknown;
  secret?: string;
}

/** The reason for which a receiver did not take an update; undefined: it took it. */
type DeliveryProblem = string | undefined;

const answerBytes = 65_536;
const answerMillis = 1_000;
const longestIdleMillis = 10_000;

/**
 * Posts one update to one receiver. Follows no redirects: they would carry the update to a receiver that was never registered.
 * A connection is kept for the next update only while there are few: so there are never more than the deliveries under way and
 * `maxConcurrent` that are idle, however many receivers there are.
 */
@Injectable()
export class WebhookSender implements OnApplicationShutdown {
  private readonly agent: Agent;
  private readonly mostKept: number;
  /** Connections that are open, or being opened. */
  connections = 0;
  private sending = 0;
  private readonly wholeMillis: number;
  private readonly readsAsOlderClients: boolean;
  private readonly signingSecret: string | undefined;
  private readonly targets: TargetRules | undefined;

  constructor(metrics: Metrics, @Inject(SETTINGS) { webhooks, compatibility }: Settings) {
    this.readsAsOlderClients = compatibility === '1.5';
    this.mostKept = webhooks.maxConcurrent;
    this.wholeMillis = webhooks.requestTimeoutMillis;
    this.signingSecret = webhooks.signingSecret;
    const { allowedTargets } = webhooks;
    this.targets = allowedTargets && { targets: new Targets(allowedTargets), setting: 'webhooks.allowedTargets' };
    const lookup = this.targets && lookUpWithin(this.targets);
    const connect = buildConnector({ timeout: webhooks.connectTimeoutMillis, ...(lookup && { lookup }) });
    this.agent = new Agent({
      connect: (options, done) => this.connect(connect, options, done),
      // Receivers say how long they keep a connection: none may have it for itself.
      keepAliveMaxTimeout: longestIdleMillis,
    });
    metrics.gauge('muster_webhook_connections', 'Connections to receivers of webhooks', [], (gauge) =>
      gauge.set(this.connections),
    );
  }

  /** Counts what is open. */
  private connect(
    connect: buildConnector.connector,
    options: buildConnector.Options,
    done: buildConnector.Callback,
  ): void {
    this.connections++;
    connect(options, (...answer) => {
      const [, socket] = answer;
      if (socket) socket.once('close', () => this.connections--);
      else this.connections--;
      done(...answer);
    });
  }

  async send(delivery: Delivery, now: number, ends: readonly AbortSignal[]): Promise<DeliveryProblem> {
    const body = JSON.stringify(this.readsAsOlderClients ? withEmbeddedTexts(delivery.body) : delivery.body);
    const secret = delivery.secret ?? this.signingSecret;
    const timeout = AbortSignal.timeout(this.wholeMillis);
    this.sending++;
    try {
      const uri = fillPlaceholders(delivery.uri, delivery.placeholders);
      if (this.targets) refuseForeign(this.targets, new URL(uri).hostname);
      const status = await withSignal([...ends, timeout], async (signal) => {
        const answer = await request(uri, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(secret === undefined ? {} : signature(delivery.id, now, body, secret)),
          },
          body,
          // Each delivery counts as one that leaves a connection behind: they may all end at once.
          reset: this.connections + this.sending > this.mostKept,
          dispatcher: this.agent,
          signal,
        });
        // The status says whether it was taken; what else is said is read only to keep the connection, and not for long.
        await answer.body
          .dump({ limit: answerBytes, signal: AbortSignal.timeout(answerMillis) })
          .catch(() => undefined);
        return answer.statusCode;
      });
      return status >= 200 && status <= 299 ? undefined : `It answered ${status}`;
    } catch (cause) {
      if (timeout.aborted) return `It did not answer within ${this.wholeMillis} ms`;
      return cause instanceof Error ? cause.message : String(cause);
    } finally {
      this.sending--;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.agent.destroy();
  }
}

/** Headers of Standard Webhooks: a receiver that knows the secret can tell that the update is ours, whole and recent. */
export function signature(id: string, now: number, body: string, secret: string): Record<string, string> {
  const timestamp = Math.floor(now / 1000);
  const isEncoded = secret.startsWith(base64Secret);
  const key = isEncoded ? Buffer.from(secret.slice(base64Secret.length), 'base64') : Buffer.from(secret);
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': `v1,${signed}` };
}

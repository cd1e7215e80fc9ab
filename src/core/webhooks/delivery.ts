import { backOffMillis } from '../back-off.js';
import { type WebhookType, webhookTypes } from '../model/enums.js';

export interface RetryRules {
  /** Milliseconds before the second attempt; doubled with each further one. */
  firstRetryMillis: number;
  /** Never wait longer. */
  maxRetryMillis: number;
  /** After this many failures in a row a webhook gets one update at a time, to find out whether it is back. */
  breakerThreshold: number;
  /** An update older than this is given up when it cannot be delivered; 0: never. */
  giveUpAfterMillis: number;
  /** With more updates than this in its queue a webhook loses the one that just failed; 0: any number may wait. */
  maxQueued: number;
}

/** Spread by a fifth to both sides, so that receivers that failed together are not asked together again. */
export function retryDelay(
  failures: number,
  rules: Pick<RetryRules, 'firstRetryMillis' | 'maxRetryMillis'>,
  random: number,
): number {
  const plain = backOffMillis(failures, rules.firstRetryMillis, rules.maxRetryMillis);
  return Math.min(Math.round(plain * (0.8 + 0.4 * random)), rules.maxRetryMillis);
}

export const isBroken = (failuresInRow: number, rules: RetryRules): boolean => failuresInRow >= rules.breakerThreshold;

export interface FailedAttempt {
  /** Time of the event that the update reports. */
  eventAt: number;
  /** Attempts to deliver this update, the failed one included. */
  attempts: number;
  /** Failures of the webhook in a row, this one included. */
  failuresInRow: number;
  /** Updates in the webhook's queue, this one included. */
  queued: number;
}

type AfterFailure =
  | { kind: 'retry'; nextAttemptAt: number; nextProbeAt?: number }
  | { kind: 'give-up'; why: 'TOO_OLD' | 'QUEUE_FULL'; nextProbeAt?: number };

/** Decides about an update that a receiver did not accept. nextProbeAt: the webhook is left alone until then. */
export function afterFailure(failed: FailedAttempt, rules: RetryRules, now: number, random: number): AfterFailure {
  const nextProbeAt = isBroken(failed.failuresInRow, rules)
    ? now + retryDelay(failed.failuresInRow, rules, random)
    : undefined;
  if (isTooOld(failed.eventAt, rules, now)) return { kind: 'give-up', why: 'TOO_OLD', nextProbeAt };
  if (rules.maxQueued > 0 && failed.queued > rules.maxQueued)
    return { kind: 'give-up', why: 'QUEUE_FULL', nextProbeAt };
  return { kind: 'retry', nextAttemptAt: now + retryDelay(failed.attempts, rules, random), nextProbeAt };
}

const isTooOld = (eventAt: number, { giveUpAfterMillis }: RetryRules, now: number): boolean =>
  giveUpAfterMillis > 0 && now - eventAt > giveUpAfterMillis;

/** Fills $REQUEST_ID, $DEPLOY_ID, $TASK_ID, $USER_ID and $SCOPE in. Encoded, so that no id can change the path or the query around it. */
export const fillPlaceholders = (uri: string, placeholders: Readonly<Record<string, string>>): string =>
  uri.replaceAll(/\$([A-Z]+_ID|SCOPE)\b/g, (whole, name: string) => {
    const value = placeholders[name];
    return value === undefined ? whole : encodeURIComponent(value);
  });

/** As forms encode: everything but letters, digits and "-._*", a space as '+'. */
const encodeForm = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/** One webhook exists per type and uri, so they make its id. */
export const makeWebhookId = (type: WebhookType, uri: string): string => `${type}-${encodeForm(uri)}`;

/**
 * The ids that a caller may mean: the stored form, or the type with the uri as it is. Clients send either, and paths
 * decode the stored form once on their way in.
 */
export function webhookIdCandidates(given: string): string[] {
  const type = webhookTypes.find((candidate) => given.startsWith(`${candidate}-`));
  return type ? [given, makeWebhookId(type, given.slice(type.length + 1))] : [given];
}

import { type RetryRules, retryDelay } from '../webhooks/delivery.js';

/** Retry rules of webhooks; a mail about something older than `giveUpAfterMillis` is given up when it cannot be sent. */
export type MailRetryRules = Pick<RetryRules, 'firstRetryMillis' | 'maxRetryMillis' | 'giveUpAfterMillis'>;

/** Reason why a mail was not sent. */
export type MailProblem =
  /** The server could not be reached, or takes nothing from us now: every mail would fail the same way. */
  | { kind: 'server'; message: string }
  /** It does not take this one now. */
  | { kind: 'later'; message: string }
  /** It will never take this one. */
  | { kind: 'never'; message: string };

export type AfterProblem = { kind: 'retry'; nextAttemptAt: number } | { kind: 'give-up' };

/** `attempts`: of this mail, the failed one included. */
export function afterProblem(
  problem: MailProblem,
  mail: { at: number; attempts: number },
  rules: MailRetryRules,
  now: number,
  random: number,
): AfterProblem {
  if (problem.kind === 'never' || now - mail.at > rules.giveUpAfterMillis) return { kind: 'give-up' };
  return { kind: 'retry', nextAttemptAt: now + retryDelay(mail.attempts, rules, random) };
}

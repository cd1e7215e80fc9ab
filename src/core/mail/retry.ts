export interface MailRetryRules {
  /** Milliseconds before the second attempt; doubled with each further one. */
  firstRetryMillis: number;
  lastRetryMillis: number;
  /** A mail about something older is given up when it cannot be sent. */
  giveUpAfterMillis: number;
}

/** Why a mail was not sent. */
export type MailProblem =
  /** The server could not be reached, or takes nothing from us now: every mail would fail the same way. */
  | { kind: 'server'; message: string }
  /** It does not take this one now. */
  | { kind: 'later'; message: string }
  /** It will never take this one. */
  | { kind: 'never'; message: string };

export type AfterProblem = { kind: 'retry'; nextAttemptAt: number } | { kind: 'give-up' };

export function backOff(failures: number, rules: MailRetryRules, random: number): number {
  const plain = Math.min(rules.firstRetryMillis * 2 ** Math.min(failures - 1, 30), rules.lastRetryMillis);
  return Math.min(Math.round(plain * (0.8 + 0.4 * random)), rules.lastRetryMillis);
}

/** `attempts`: of this mail, the failed one included. */
export function afterProblem(
  problem: MailProblem,
  mail: { at: number; attempts: number },
  rules: MailRetryRules,
  now: number,
  random: number,
): AfterProblem {
  if (problem.kind === 'never' || now - mail.at > rules.giveUpAfterMillis) return { kind: 'give-up' };
  return { kind: 'retry', nextAttemptAt: now + backOff(mail.attempts, rules, random) };
}

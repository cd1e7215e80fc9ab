/** Limit of the mails of one type for one request. */
export interface RateLimitRules {
  /** So many within the period; the next one starts a cooldown. Below 1: any number. */
  rateLimitAfterNotifications: number;
  rateLimitPeriodMillis: number;
  rateLimitCooldownMillis: number;
}

/** State of the limit for one type of mail and request, in epoch milliseconds. */
export interface RateLimitState {
  /** The newest ones, one more than may be sent at most. */
  sentAt: readonly number[];
  limitedUntil?: number;
}

export interface RateLimitDecision {
  /** NOTICE: in its place its recipients are told that mails are limited from now on. */
  outcome: 'MAIL' | 'NOTICE' | 'DROP';
  state: RateLimitState;
}

/** Decides if a mail about an event at `at` is sent. */
export function limitRate(state: RateLimitState, at: number, rules: RateLimitRules): RateLimitDecision {
  const { rateLimitAfterNotifications: most, rateLimitPeriodMillis, rateLimitCooldownMillis } = rules;
  if (most < 1) return { outcome: 'MAIL', state };
  if (state.limitedUntil !== undefined && at < state.limitedUntil) return { outcome: 'DROP', state };
  const recent = [...state.sentAt, at].filter((sent) => at - sent < rateLimitPeriodMillis);
  const sentAt = recent.slice(-(most + 1));
  if (recent.length <= most) return { outcome: 'MAIL', state: { sentAt } };
  return { outcome: 'NOTICE', state: { sentAt, limitedUntil: at + rateLimitCooldownMillis } };
}

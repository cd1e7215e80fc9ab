import { unitSeconds, type Recurrence } from './recurrence.js';

/** More would have to be counted one by one each time a rule is looked at. */
const maxCount = 1_000_000;
const maxCountOfLimitedUnits = 10_000;

type Check = (rule: Recurrence) => string | false | undefined;

/** What RFC 5545 forbids to combine, and what cannot be honoured; undefined when the rule is fine. */
export function partProblem(rule: Recurrence): string | undefined {
  for (const check of checks) {
    const problem = check(rule);
    if (problem) return problem;
  }
  return undefined;
}

const checks: readonly Check[] = [
  ({ count, untilClock, untilInstant }) =>
    count !== undefined && (untilClock ?? untilInstant) !== undefined && 'COUNT and UNTIL cannot both be given',
  ({ frequency, byWeekNo }) => byWeekNo && frequency !== 'YEARLY' && `BYWEEKNO is not allowed with FREQ=${frequency}`,
  ({ frequency, byYearDay }) =>
    byYearDay &&
    (frequency === 'DAILY' || frequency === 'WEEKLY' || frequency === 'MONTHLY') &&
    `BYYEARDAY is not allowed with FREQ=${frequency}`,
  ({ frequency, byMonthDay }) => byMonthDay && frequency === 'WEEKLY' && 'BYMONTHDAY is not allowed with FREQ=WEEKLY',
  ({ frequency, byDay, byWeekNo }) => {
    const numbered = byDay?.some(({ nth }) => nth !== undefined);
    if (!numbered) return undefined;
    if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') return `BYDAY has no numbers with FREQ=${frequency}`;
    return byWeekNo && 'BYDAY has no numbers beside BYWEEKNO';
  },
  ({ frequency, byDay, byMonth }) =>
    (frequency === 'MONTHLY' || byMonth !== undefined) &&
    byDay?.some(({ nth }) => Math.abs(nth ?? 1) > 5) &&
    'BYDAY: a month has at most 5 of a weekday',
  (rule) => rule.bySetPos && !hasOtherParts(rule) && 'BYSETPOS needs another part that begins with BY',
  (rule) => {
    const { frequency, count = 0 } = rule;
    if (count > maxCount) return `COUNT must be at most ${maxCount}`;
    const isLimited = unitSeconds[frequency] !== undefined && hasOtherParts(rule);
    return (
      isLimited &&
      count > maxCountOfLimitedUnits &&
      `COUNT must be at most ${maxCountOfLimitedUnits} with FREQ=${frequency} and parts that begin with BY`
    );
  },
];

const hasOtherParts = (rule: Recurrence): boolean =>
  [
    rule.bySecond,
    rule.byMinute,
    rule.byHour,
    rule.byDay,
    rule.byMonthDay,
    rule.byYearDay,
    rule.byWeekNo,
    rule.byMonth,
  ].some((part) => part !== undefined);

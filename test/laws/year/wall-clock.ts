/** Times that a clock on the wall shows: what a schedule names, before any notation. */
export interface WallRule {
  /** Absent: 0. */
  seconds?: readonly number[];
  minutes: readonly number[];
  hours: readonly number[] | 'EVERY';
  /** 0: Sunday. Absent: all. */
  weekdays?: readonly number[];
  /** Absent: all. */
  monthDays?: readonly number[];
  zone: string;
  /** A rule of RFC 5545 without a start begins with the minute in which it was saved. Absent: it has always been. */
  since?: number;
}

/** A span in which the clocks of a zone are not changed. */
interface Span {
  from: number;
  to: number;
  /** Milliseconds before UTC. */
  offset: number;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const begin = Date.parse('2025-12-01T00:00:00Z');
const end = Date.parse('2027-02-01T00:00:00Z');

const known = new Map<string, Span[]>();

function spansOf(zone: string): Span[] {
  const spans = known.get(zone) ?? findSpans(zone);
  known.set(zone, spans);
  return spans;
}

function findSpans(zone: string): Span[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offsetAt = (instant: number): number => {
    const name = format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')!.value;
    const [, sign, hours = '0', minutes = '0'] = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(name)!;
    return (sign === '-' ? -1 : 1) * (Number(hours) * hour + Number(minutes) * minute);
  };
  const spans: Span[] = [{ from: begin, to: end, offset: offsetAt(begin) }];
  for (let at = begin + hour; at < end; at += hour) {
    const last = spans.at(-1)!;
    if (offsetAt(at) === last.offset) continue;
    let change = at;
    while (offsetAt(change - minute) !== last.offset) change -= minute;
    last.to = change;
    spans.push({ from: change, to: end, offset: offsetAt(change) });
  }
  return spans;
}

/**
 * The instants at which a rule fires, after `from` and up to `to`, as the page on scheduling says it of days on which clocks are changed:
 * a rule with hours of its own fires once at each reading, a skipped one at the change; one of every hour follows the hours that pass.
 */
export function timesOf(rule: WallRule, from: number, to: number): number[] {
  const spans = spansOf(rule.zone);
  const found = new Set<number>();
  const everyHour = rule.hours === 'EVERY';
  const hours = everyHour ? Array.from({ length: 24 }, (_, index) => index) : (rule.hours as readonly number[]);
  for (let date = Math.floor(from / day) * day - 2 * day; date < to + 2 * day; date += day) {
    const shown = new Date(date);
    if (rule.weekdays && !rule.weekdays.includes(shown.getUTCDay())) continue;
    if (rule.monthDays && !rule.monthDays.includes(shown.getUTCDate())) continue;
    for (const hours_ of hours) {
      const shownHour = date + hours_ * hour;
      if (spans.every(({ offset }) => shownHour - offset < from - 2 * hour || shownHour - offset > to + 2 * hour))
        continue;
      for (const reading of readingsOf(rule, shownHour)) {
        const instants = spans
          .filter((span) => span.from <= reading - span.offset && reading - span.offset < span.to)
          .map((span) => reading - span.offset);
        if (everyHour) for (const instant of instants) found.add(instant);
        else found.add(instants.length > 0 ? Math.min(...instants) : changeOver(spans, reading));
      }
    }
  }
  return [...found].filter((at) => at > from && at <= to && at >= (rule.since ?? from)).toSorted((a, b) => a - b);
}

const readingsOf = ({ minutes, seconds = [0] }: WallRule, shownHour: number): number[] =>
  minutes.flatMap((each) => seconds.map((second) => shownHour + each * minute + second * 1_000));

/** The change of clocks that skips a reading. */
const changeOver = (spans: readonly Span[], reading: number): number =>
  spans.find(
    (span, index) => index > 0 && reading - spans[index - 1]!.offset >= span.from && reading - span.offset < span.from,
  )?.from ?? Number.NaN;

const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** The rule in one of the notations. `minutes`: the text of this field of a crontab. */
export function textOf(
  { hours, minutes, seconds = [0], weekdays, monthDays }: WallRule,
  type: 'CRON' | 'QUARTZ' | 'RFC5545',
  minutesText = minutes.join(','),
): string {
  const days = weekdays?.map((each) => dayNames[each]!);
  const hoursText = hours === 'EVERY' ? '*' : hours.join(',');
  if (type === 'CRON') return `${minutesText} ${hoursText} ${monthDays?.join(',') ?? '*'} * ${days?.join(',') ?? '*'}`;
  if (type === 'QUARTZ') {
    const [ofMonth, ofWeek] = days ? ['?', days.join(',')] : [monthDays?.join(',') ?? '*', '?'];
    return `${seconds.join(',')} ${minutesText} ${hoursText} ${ofMonth} * ${ofWeek}`;
  }
  const byDay = days ? `;BYDAY=${days.map((name) => name.slice(0, 2)).join(',')}` : '';
  const byMonthDay = monthDays ? `;BYMONTHDAY=${monthDays.join(',')}` : '';
  return `FREQ=DAILY${byDay}${byMonthDay};BYHOUR=${hoursText};BYMINUTE=${minutesText};BYSECOND=0`;
}

import { dayMillis } from './calendar.js';
import {
  frequencies,
  type Frequency,
  type GivenDate,
  readDate,
  readNumbers,
  type Recurrence,
  unitSeconds,
  UnreadableRule,
  type WeekdayPart,
} from './recurrence.js';

/** Properties and parts of a recurrence, by name, as they were written. */
interface RecurrenceText {
  parts: Map<string, string>;
  extraDates: GivenDate[];
  exceptDates: GivenDate[];
  start?: GivenDate;
  timeZone?: string;
}

const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'] as const;
const dateProperties = new Set(['DTSTART', 'EXDATE', 'RDATE']);

/**
 * Reads a rule such as "FREQ=DAILY;BYHOUR=6", with its start as "DTSTART=20260101T060000", "DTSTART:..." or
 * "DTSTART;TZID=Europe/Paris:..." beside it, in any order. A wrong one is answered with a sentence that names the part.
 */
export function parseRecurrence(text: string): Recurrence | { error: string } {
  try {
    const recurrence = readRecurrence(readWritten(text));
    const problem = partProblem(recurrence);
    if (problem) throw new UnreadableRule(problem);
    return recurrence;
  } catch (cause) {
    if (cause instanceof UnreadableRule) return { error: `${cause.message} in '${text}'` };
    throw cause;
  }
}

function readWritten(text: string): RecurrenceText {
  const written: RecurrenceText = { parts: new Map(), extraDates: [], exceptDates: [] };
  const rules = text.match(/RRULE:/gi) ?? [];
  if (rules.length > 1) throw new UnreadableRule('there is more than one RRULE');
  for (const word of text
    .replace(/RRULE:/i, ' ')
    .trim()
    .split(/\s+/)) {
    const property = /^([A-Za-z]+)((?:;[^:;=]+=[^:;]*)*):(.*)$/.exec(word);
    if (property) readProperty(property[1]!.toUpperCase(), property[2]!, property[3]!, written);
    else for (const part of word.split(';')) if (part !== '') readPart(part, written);
  }
  return written;
}

function readPart(part: string, written: RecurrenceText): void {
  const match = /^([A-Za-z-]+)=(.*)$/.exec(part);
  if (!match) throw new UnreadableRule(`cannot read '${part}'`);
  const name = match[1]!.toUpperCase();
  if (dateProperties.has(name)) return readDates(name, match[2]!, written);
  if (!readers.has(name)) throw new UnreadableRule(`${name} is not supported`);
  if (written.parts.has(name)) throw new UnreadableRule(`${name} is given twice`);
  written.parts.set(name, match[2]!.toUpperCase());
}

function readProperty(name: string, parameters: string, value: string, written: RecurrenceText): void {
  if (!dateProperties.has(name)) throw new UnreadableRule(`${name} is not supported`);
  for (const parameter of parameters.split(';').slice(1)) {
    const [key, given] = parameter.split('=') as [string, string];
    if (key.toUpperCase() === 'TZID') readZone(given, written);
    else if (!/^VALUE=DATE(-TIME)?$/i.test(parameter))
      throw new UnreadableRule(`${name}: ${parameter} is not supported`);
  }
  readDates(name, value, written);
}

function readDates(name: string, value: string, written: RecurrenceText): void {
  const dates = value.split(',').map((each) => readDate(name, each));
  if (name === 'EXDATE') written.exceptDates.push(...dates);
  else if (name === 'RDATE') written.extraDates.push(...dates);
  else {
    if (written.start || dates.length > 1) throw new UnreadableRule('DTSTART is given twice');
    written.start = dates[0]!;
    if (written.start.isUtc) readZone('UTC', written);
  }
}

function readZone(zone: string, written: RecurrenceText): void {
  if (written.timeZone !== undefined && written.timeZone !== zone) {
    throw new UnreadableRule(`there are two time zones, ${written.timeZone} and ${zone},`);
  }
  written.timeZone = zone;
}

type PartReader = (value: string, recurrence: Recurrence) => void;

/** Readers of the parts of a rule. Parts without one are not supported. */
const readers: ReadonlyMap<string, PartReader> = new Map<string, PartReader>([
  ['FREQ', () => {}],
  ['INTERVAL', (value, into) => (into.interval = readCount('INTERVAL', value))],
  ['COUNT', (value, into) => (into.count = readCount('COUNT', value))],
  ['UNTIL', readUntil],
  ['WKST', (value, into) => (into.weekStart = readWeekday('WKST', value))],
  ['BYSECOND', (value, into) => (into.bySecond = readNumbers('BYSECOND', value, 0, 59))],
  ['BYMINUTE', (value, into) => (into.byMinute = readNumbers('BYMINUTE', value, 0, 59))],
  ['BYHOUR', (value, into) => (into.byHour = readNumbers('BYHOUR', value, 0, 23))],
  ['BYDAY', (value, into) => (into.byDay = value.split(',').map(readDayPart))],
  ['BYMONTHDAY', (value, into) => (into.byMonthDay = readNumbers('BYMONTHDAY', value, -31, 31))],
  ['BYYEARDAY', (value, into) => (into.byYearDay = readNumbers('BYYEARDAY', value, -366, 366))],
  ['BYWEEKNO', (value, into) => (into.byWeekNo = readNumbers('BYWEEKNO', value, -53, 53))],
  ['BYMONTH', (value, into) => (into.byMonth = readNumbers('BYMONTH', value, 1, 12))],
  ['BYSETPOS', (value, into) => (into.bySetPos = readNumbers('BYSETPOS', value, -366, 366))],
]);

function readRecurrence({ parts, start, timeZone, extraDates, exceptDates }: RecurrenceText): Recurrence {
  const frequency = parts.get('FREQ');
  if (frequency === undefined) throw new UnreadableRule('FREQ is missing');
  if (!(frequencies as readonly string[]).includes(frequency)) {
    throw new UnreadableRule(`FREQ: '${frequency}' must be one of ${frequencies.join(', ')}`);
  }
  const recurrence: Recurrence = {
    frequency: frequency as Frequency,
    interval: 1,
    weekStart: 1,
    start: start?.clock,
    timeZone,
    extraDates,
    exceptDates,
  };
  for (const [name, value] of parts) readers.get(name)!(value, recurrence);
  return recurrence;
}

function readUntil(value: string, into: Recurrence): void {
  const { clock, isUtc, isWholeDay } = readDate('UNTIL', value);
  if (isUtc) into.untilInstant = clock;
  else into.untilClock = isWholeDay ? clock + dayMillis - 1 : clock;
}

function readCount(name: string, value: string): number {
  const count = /^\d{1,9}$/.test(value) ? Number(value) : 0;
  if (count < 1) throw new UnreadableRule(`${name}: '${value}' must be a whole number from 1 to 999999999`);
  return count;
}

function readDayPart(value: string): WeekdayPart {
  const [, nth, name] = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(value) ?? [];
  if (name === undefined) throw new UnreadableRule(`BYDAY: cannot read '${value}'`);
  const weekday = readWeekday('BYDAY', name);
  if (nth === undefined) return { weekday };
  const [position] = readNumbers('BYDAY', nth.replace('+', ''), -53, 53);
  return { weekday, nth: position! };
}

function readWeekday(part: string, name: string): number {
  const weekday = (weekdays as readonly string[]).indexOf(name);
  if (weekday < 0) throw new UnreadableRule(`${part}: '${name}' must be one of ${weekdays.join(', ')}`);
  return weekday;
}

/** More would have to be counted one by one each time a rule is looked at. */
const maxCount = 1_000_000;
const maxCountOfLimitedUnits = 10_000;

type Check = (rule: Recurrence) => string | false | undefined;

/** Combinations that RFC 5545 forbids, and parts that cannot be honoured; undefined when the rule is fine. */
function partProblem(rule: Recurrence): string | undefined {
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

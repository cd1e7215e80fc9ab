import { didYouMean } from '../did-you-mean.js';
import { type ClockTime, type ClockTimes, dayMillis } from './calendar.js';

/** Short ids that stored requests use. Those with a fixed offset (EST, MST, HST) never observe daylight saving. */
const shortIds: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Anchorage',
  BET: 'America/Sao_Paulo',
  BST: 'Asia/Dhaka',
  CAT: 'Africa/Harare',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Addis_Ababa',
  ECT: 'Europe/Paris',
  EST: 'Etc/GMT+5',
  HST: 'Etc/GMT+10',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia',
  MST: 'Etc/GMT+7',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
  UT: 'UTC',
  Z: 'UTC',
};

/** Zones resolved so far; building a formatter takes longer than everything else about a schedule. */
const resolved = new Map<string, string>();
/** There are some 600 names, but any mix of capital and small letters is one of them. */
const maxResolved = 2_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** The zone under the name this platform knows, or undefined when there is no such zone. */
export function resolveTimeZone(id: string): string | undefined {
  const known = resolved.get(id);
  if (known !== undefined) return known;
  const name = (Object.hasOwn(shortIds, id) ? shortIds[id] : undefined) ?? fixedOffset(id) ?? id;
  try {
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    if (resolved.size < maxResolved) resolved.set(id, zone);
    return zone;
  } catch {
    return undefined;
  }
}

/** Message for a name that is no zone. */
export function unknownZone(id: string): string {
  const meant = didYouMean(id.replaceAll(' ', '_'), Intl.supportedValuesOf('timeZone'));
  const isAbbreviation = /^[A-Z]{3,5}$/.test(id);
  const advice = isAbbreviation ? '; an abbreviation is not enough, name the region: one' : '; one';
  const hint = meant === undefined ? `${advice} looks like Europe/Paris` : `: did you mean ${meant}?`;
  return `'${id}' is not a known time zone${hint}`;
}

/** Offsets of days of UTC on which clocks are not changed, by zone: reading a clock took half of the time of all planning. */
const daysOfZones = new Map<string, Map<number, number>>();
/** Ten years of a zone, some 50 KB. */
const mostDays = 4_000;

/** Offset of the clocks of a zone from UTC at an instant, in milliseconds. */
function offsetAt(timeZone: string, instant: number): number {
  if (timeZone === 'UTC') return 0;
  let days = daysOfZones.get(timeZone);
  if (!days) daysOfZones.set(timeZone, (days = new Map()));
  const day = Math.floor(instant / dayMillis);
  const known = days.get(day);
  if (known !== undefined) return known;
  const begin = readOffset(timeZone, day * dayMillis);
  if (begin !== readOffset(timeZone, (day + 1) * dayMillis - 1)) return readOffset(timeZone, instant);
  if (days.size >= mostDays) days.clear();
  days.set(day, begin);
  return begin;
}

function readOffset(timeZone: string, instant: number): number {
  let clock = clocks.get(timeZone);
  if (!clock) clocks.set(timeZone, (clock = wallClock(timeZone)));
  const shown = /(\d+)\D+(\d+)\D+(\d+)\D+(\d+):(\d+):(\d+)/.exec(clock.format(instant));
  if (!shown) throw new Error(`Cannot read the clock of zone '${timeZone}'`);
  const [, month, date, year, hour, minute, second] = shown.map(Number) as [number, ...number[]];
  const reading = Date.UTC(year!, month! - 1, date, hour, minute, second);
  return reading - Math.floor(instant / 1_000) * 1_000;
}

const wallClock = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });

/** "GMT+2", "UTC-05:00", "+9": whole hours, as the zone database names them (its signs are turned round). */
function fixedOffset(id: string): string | undefined {
  const match = /^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?00)?$/.exec(id);
  if (!match) return undefined;
  const hours = Number(match[2]);
  if (hours === 0) return 'UTC';
  return `Etc/GMT${match[1] === '+' ? '-' : '+'}${hours}`;
}

/** Reading of the clocks of a zone at an instant. */
export const clockAt = (timeZone: string, instant: number): ClockTime => instant + offsetAt(timeZone, instant);

/**
 * The first instant strictly after `after` at which a schedule fires in a zone. The rule for days on which clocks are
 * changed is written down in this directory's README.
 */
export function nextInstant(times: ClockTimes, timeZone: string, after: number): number | undefined {
  return times.everyHour ? nextOfEveryHour(times, timeZone, after) : nextReading(times, timeZone, after);
}

/** Each reading once: at its first occurrence, or, if clocks skip it, at the instant at which they do. */
function nextReading(times: ClockTimes, timeZone: string, after: number): number | undefined {
  const reading = times.after(clockAt(timeZone, after));
  if (reading === undefined) return undefined;
  const instant = firstInstant(timeZone, reading);
  if (instant > after) return instant;
  // `after` lies in an hour that is repeated. All its readings have had their turn; the next ones come after it.
  const change = changeBetween(timeZone, instant, after);
  const next = times.after(change + offsetAt(timeZone, change - 1) - 1);
  return next === undefined ? undefined : firstInstant(timeZone, next);
}

function firstInstant(timeZone: string, reading: ClockTime): number {
  const [instant] = instantsOf(timeZone, reading);
  return instant ?? changeAround(timeZone, reading);
}

/** Each instant at which the clocks show a reading of the schedule: what is repeated fires again, what is skipped does not. */
function nextOfEveryHour(times: ClockTimes, timeZone: string, after: number): number | undefined {
  const soon = after + dayMillis;
  if (offsetAt(timeZone, after) === offsetAt(timeZone, soon)) {
    return firstExisting(times, timeZone, clockAt(timeZone, after), after + 1);
  }
  const change = changeBetween(timeZone, after, soon);
  const reading = times.after(clockAt(timeZone, after));
  const before = reading === undefined ? undefined : reading - offsetAt(timeZone, after);
  if (before !== undefined && before < change) return before;
  return firstExisting(times, timeZone, clockAt(timeZone, change) - 1, change);
}

/** The first instant at or after `from` with a reading after `clock`. */
function firstExisting(times: ClockTimes, timeZone: string, clock: ClockTime, from: number): number | undefined {
  const reading = times.after(clock);
  if (reading === undefined) return undefined;
  const found = instantsOf(timeZone, reading).find((instant) => instant >= from);
  if (found !== undefined) return found;
  const change = changeAround(timeZone, reading);
  return firstExisting(times, timeZone, clockAt(timeZone, change) - 1, change);
}

/** The instants at which the clocks show a reading: mostly one, two if it is repeated, none if it is skipped. */
function instantsOf(timeZone: string, reading: ClockTime): number[] {
  const before = offsetAt(timeZone, reading - dayMillis);
  const after = offsetAt(timeZone, reading + dayMillis);
  const candidates = before === after ? [reading - before] : [reading - before, reading - after];
  return candidates.filter((instant) => clockAt(timeZone, instant) === reading).toSorted((a, b) => a - b);
}

/** Instant at which the clocks skip a reading that no instant has. */
function changeAround(timeZone: string, reading: ClockTime): number {
  return changeBetween(timeZone, reading - dayMillis, reading + dayMillis);
}

/** The first instant with another offset than `from` has; `to` has another one. */
function changeBetween(timeZone: string, from: number, to: number): number {
  const former = offsetAt(timeZone, from);
  let last = from;
  let next = to;
  while (next - last > 1) {
    const middle = Math.floor((last + next) / 2);
    if (offsetAt(timeZone, middle) === former) last = middle;
    else next = middle;
  }
  return next;
}

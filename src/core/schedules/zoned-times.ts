import { dayMillis, type ClockTime, type ClockTimes } from './clock-times.js';
import { offsetAt } from './time-zones.js';

/** What the clocks of a zone show at an instant. */
export const clockAt = (timeZone: string, instant: number): ClockTime => instant + offsetAt(timeZone, instant);

/**
 * The first instant strictly after `after` at which a schedule fires in a zone. The rule for days on which clocks are
 * changed is written down in this folder's README.
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

/** When the clocks skip a reading that no instant has. */
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

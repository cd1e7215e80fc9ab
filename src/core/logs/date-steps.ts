/** A time span in epoch milliseconds. */
export interface Span {
  start: number;
  end: number;
}

/** Parts of the date in keys: year, month, day, hour; in UTC. From coarse to fine. */
const dateVariables = ['Y', 'm', 'd', 'H'] as const;
export type DateVariable = (typeof dateVariables)[number];
export type DateStep = Record<DateVariable, string>;

/** Beyond that many places to look the search is coarser instead: below each day rather than below each hour. */
const mostSteps = 1_000;

const two = (value: number): string => String(value).padStart(2, '0');

/**
 * All dates that keys of the span can have, the newest first, as fine as the given parts tell them apart. `told`: the parts
 * that the dates tell; a long span has so many hours that only its days, months or years are gone through.
 */
export function stepsOf(given: readonly DateVariable[], span: Span): { dates: DateStep[]; told: DateVariable[] } {
  const wanted = dateVariables.filter((variable) => given.includes(variable));
  if (span.end < span.start) return { dates: [], told: wanted };
  for (let count = wanted.length; count > 0; count--) {
    const told = wanted.slice(0, count);
    const dates = datesOf(told.at(-1)!, span);
    if (dates) return { dates, told };
  }
  return { dates: [stepAt(new Date(span.start))], told: [] };
}

/** undefined: too many. */
function datesOf(finest: DateVariable, { start, end }: Span): DateStep[] | undefined {
  const dates: DateStep[] = [];
  // From the start of the day: the clocks of those who wrote the files may have been in another time zone.
  for (let at = beginning(finest, new Date(start)); at.getTime() <= end; at = next(finest, at)) {
    if (dates.length === mostSteps) return undefined;
    dates.push(stepAt(at));
  }
  return dates.reverse();
}

function beginning(finest: DateVariable, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (finest === 'Y') return new Date(Date.UTC(year, 0));
  return new Date(finest === 'm' ? Date.UTC(year, month) : Date.UTC(year, month, day));
}

function next(step: DateVariable, at: Date): Date {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (step) {
    case 'Y':
      return new Date(Date.UTC(year + 1, 0));
    case 'm':
      return new Date(Date.UTC(year, month + 1));
    case 'd':
      return new Date(Date.UTC(year, month, day + 1));
    case 'H':
      return new Date(at.getTime() + 3_600_000);
  }
}

const stepAt = (at: Date): DateStep => ({
  Y: String(at.getUTCFullYear()).padStart(4, '0'),
  m: two(at.getUTCMonth() + 1),
  d: two(at.getUTCDate()),
  H: two(at.getUTCHours()),
});

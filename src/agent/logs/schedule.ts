import type { LogrotateFrequency } from '../../platform/settings/log-rotation-settings.js';

/*
 * When logs are rotated, what the results are called, and which of them are kept.
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** The first Sunday of the epoch; weeks begin with Sunday. */
const firstSunday = 3 * day;

/** The beginning of the period that a time is in; in UTC, as all times of files here. */
export function beginOfPeriod(frequency: LogrotateFrequency, time: number): number {
  const since = (length: number, start = 0) => start + Math.floor((time - start) / length) * length;
  switch (frequency) {
    case 'EVERY_MINUTE':
      return since(minute);
    case 'EVERY_FIVE_MINUTES':
      return since(5 * minute);
    case 'HOURLY':
      return since(hour);
    case 'DAILY':
      return since(day);
    case 'WEEKLY':
      return since(7 * day, firstSunday);
    case 'MONTHLY': {
      const date = new Date(time);
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    }
  }
}

/** `last`: when the log was rotated, or when its task began. */
export const isDue = (frequency: LogrotateFrequency, last: number, now: number): boolean =>
  beginOfPeriod(frequency, now) > last;

/** `<base>-<date><.ext>`: the compressed file has the ending of its compression besides. */
export function rotatedName(base: string, dateFormat: string, extension: string, now: number): string {
  const date = new Date(now);
  const two = (value: number) => String(value).padStart(2, '0');
  const parts: Record<string, string> = {
    Y: String(date.getUTCFullYear()),
    m: two(date.getUTCMonth() + 1),
    d: two(date.getUTCDate()),
    H: two(date.getUTCHours()),
    M: two(date.getUTCMinutes()),
    S: two(date.getUTCSeconds()),
    s: String(Math.floor(now / 1000)),
  };
  const text = dateFormat.replace(/%([YmdHMSs])/g, (_whole, letter: string) => parts[letter] ?? '');
  return `${base}-${text}${extension && `.${extension.replace(/^\./, '')}`}`;
}

/** Results of rotating `base`, among the names of a directory: what begins like one and goes on with a date. */
export const isResultOf = (base: string, name: string): boolean =>
  name.startsWith(`${base}-`) && /^[0-9]/.test(name.slice(base.length + 1));

/** Results of one log to remove: those that are too old, and the oldest of those that are too many or, together, too large. */
export function surplus(
  results: readonly { name: string; mtimeMs: number; size: number }[],
  keep: { count: number; maxAgeDays: number; bytes?: number },
  now: number,
): string[] {
  const newestFirst = results.toSorted((a, b) => b.mtimeMs - a.mtimeMs || (a.name < b.name ? 1 : -1));
  let bytes = 0;
  return newestFirst
    .filter(({ mtimeMs, size }, index) => {
      bytes += size;
      const isTooMuch = index >= keep.count || bytes > (keep.bytes ?? Infinity);
      return isTooMuch || mtimeMs < now - keep.maxAgeDays * day;
    })
    .map(({ name }) => name);
}

/**
 * Makes a test of paths from a glob: `*`, `?` and `[...]` stay within a name. Each sign is compared once per star at
 * most, whatever the glob: names and globs are a task's own, and an expression can take hours for some of them.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const parts = (glob.match(/\[!?[^\]/]+\]|[\s\S]/g) ?? []).map(partOf);
  return (path) => {
    let [part, at] = [0, 0];
    // The last star, and how far it goes: those before it never have to go further than they did.
    let [star, until] = [-1, 0];
    while (at < path.length) {
      const wanted = parts[part];
      if (wanted === '*') [star, until, part] = [part, at, part + 1];
      else if (wanted?.(path[at]!)) [part, at] = [part + 1, at + 1];
      else if (star !== -1 && path[until] !== '/') [part, at] = [star + 1, ++until];
      else return false;
    }
    while (parts[part] === '*') part += 1;
    return part === parts.length;
  };
}

function partOf(text: string): '*' | ((sign: string) => boolean) {
  if (text === '*') return '*';
  if (text === '?') return (sign) => sign !== '/';
  if (text.length === 1) return (sign) => sign === text;
  const isWithout = text.startsWith('[!');
  const ranges = [...text.slice(isWithout ? 2 : 1, -1).matchAll(/([\s\S])-([\s\S])|[\s\S]/g)];
  const isIn = (sign: string) => ranges.some(([one, first = one, last = first]) => sign >= first && sign <= last);
  return (sign) => sign !== '/' && isIn(sign) !== isWithout;
}

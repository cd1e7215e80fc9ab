/** Parts of a time as people in its zone read it. */
type Parts = Record<Intl.DateTimeFormatPartTypes, string>;

const padded = (value: string | number, width: number): string => String(Number(value)).padStart(width, '0');

/** By letter of the pattern: what stands for it, given how often it stands there. */
const letters: Readonly<Record<string, (parts: Parts, width: number, at: Date) => string>> = {
  y: ({ year }, width) => (width === 2 ? padded(year, 4).slice(-2) : padded(year, width)),
  M: ({ month }, width) =>
    width < 3 ? padded(month, width) : width === 3 ? monthName(month).slice(0, 3) : monthName(month),
  d: ({ day }, width) => padded(day, width),
  E: ({ weekday }, width) => (width < 4 ? weekday.slice(0, 3) : weekday),
  H: ({ hour }, width) => padded(hour, width),
  h: ({ hour }, width) => padded(Number(hour) % 12 || 12, width),
  m: ({ minute }, width) => padded(minute, width),
  s: ({ second }, width) => padded(second, width),
  S: (_parts, width, at) => padded(at.getUTCMilliseconds(), width),
  a: ({ hour }) => (Number(hour) < 12 ? 'AM' : 'PM'),
  z: ({ timeZoneName }) => timeZoneName,
};

const monthNames = 'January February March April May June July August September October November December'.split(' ');
const monthName = (month: string): string => monthNames[Number(month) - 1]!;

/** A quoted text, '' for a quote, a letter as often as it stands there, or anything else. */
const tokens = /'((?:[^']|'')*)'|(([a-zA-Z])\3*)|[^a-zA-Z']+/g;

/**
 * True when times can be formatted by the pattern: the letters y M d E H h m s S a z, text in single quotes, and signs.
 */
export const isDatePattern = (pattern: string): boolean =>
  pattern !== '' &&
  pattern.replaceAll(tokens, (_token, _quoted, run?: string) => (run && !(run[0]! in letters) ? "'" : '')) === '';

/** Writes a time (epoch milliseconds) by a pattern such as "MMM dd h:mm:ss a zzz", in the zone that a request may name. */
export function formatTime(at: number, pattern: string, timeZone: string): string {
  const date = new Date(at);
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    weekday: 'long',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    timeZoneName: 'short',
  });
  const parts = Object.fromEntries(format.formatToParts(date).map(({ type, value }) => [type, value])) as Parts;
  return pattern.replaceAll(tokens, (token, quoted: string | undefined, run: string | undefined) => {
    if (run !== undefined) return letters[run[0]!]!(parts, run.length, date);
    if (quoted === undefined) return token;
    return quoted === '' ? "'" : quoted.replaceAll("''", "'");
  });
}

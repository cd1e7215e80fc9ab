/** The words of `timestampFormat` that are known; everything else of it stays as it is. */
const words = /\[[^\]]*\]|l{2,4}|L{2,4}|LTS?|YYYY|YY|MMMM|MMM|MM|M|DD|D|dddd|ddd|HH|H|hh|h|mm|m|ss|s|A|a|ZZ|Z|z/g;

/** This moment by the clocks of this zone, as a format of the settings says. */
export function formatTime(at: number, format: string, timeZone: string | undefined): string {
  const part = (options: Intl.DateTimeFormatOptions, type: Intl.DateTimeFormatPartTypes): string =>
    new Intl.DateTimeFormat('en-US', { timeZone, ...options }).formatToParts(at).find((each) => each.type === type)
      ?.value ?? '';
  const whole = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-US', { timeZone, ...options }).format(at);
  const hour24 = part({ hour: '2-digit', hourCycle: 'h23' }, 'hour').padStart(2, '0');
  const offset = offsetOf(at, timeZone);
  const values: Readonly<Record<string, () => string>> = {
    ll: () => whole({ dateStyle: 'medium' }),
    lll: () => `${whole({ dateStyle: 'medium' })} ${hour24}:${part({ minute: '2-digit', hour: '2-digit' }, 'minute')}`,
    LL: () => whole({ dateStyle: 'long' }),
    LLL: () => whole({ dateStyle: 'long', timeStyle: 'short' }),
    LT: () => whole({ timeStyle: 'short' }),
    LTS: () => whole({ timeStyle: 'medium' }),
    YYYY: () => part({ year: 'numeric' }, 'year'),
    YY: () => part({ year: '2-digit' }, 'year'),
    MMMM: () => part({ month: 'long' }, 'month'),
    MMM: () => part({ month: 'short' }, 'month'),
    MM: () => part({ month: '2-digit' }, 'month'),
    M: () => part({ month: 'numeric' }, 'month'),
    DD: () => part({ day: '2-digit' }, 'day'),
    D: () => part({ day: 'numeric' }, 'day'),
    dddd: () => part({ weekday: 'long' }, 'weekday'),
    ddd: () => part({ weekday: 'short' }, 'weekday'),
    HH: () => hour24,
    H: () => String(Number(hour24)),
    hh: () => part({ hour: '2-digit', hour12: true }, 'hour'),
    h: () => part({ hour: 'numeric', hour12: true }, 'hour'),
    mm: () => part({ minute: '2-digit', hour: '2-digit' }, 'minute').padStart(2, '0'),
    m: () => part({ minute: 'numeric' }, 'minute'),
    ss: () => part({ second: '2-digit', minute: '2-digit' }, 'second').padStart(2, '0'),
    s: () => part({ second: 'numeric' }, 'second'),
    A: () => part({ hour: 'numeric', hour12: true }, 'dayPeriod'),
    a: () => part({ hour: 'numeric', hour12: true }, 'dayPeriod').toLowerCase(),
    Z: () => offset,
    ZZ: () => offset.replace(':', ''),
    z: () => part({ timeZoneName: 'short' }, 'timeZoneName'),
  };
  return format.replaceAll(words, (word) => (word.startsWith('[') ? word.slice(1, -1) : (values[word]?.() ?? word)));
}

/** As the log and the command line write it, to the second: 2026-01-31T12:00:00Z, or with the offset of another zone. */
export const isoTime = (at: number, timeZone: string | undefined): string =>
  formatTime(at, 'YYYY-MM-DD[T]HH:mm:ssZ', timeZone).replace('+00:00', 'Z');

const written = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)\s?(Z|[+-]\d\d:\d\d)?)?$/i;

/**
 * The moment that was written into a field: a date, or a date and a time, by the clocks of this zone unless an offset follows.
 * Undefined: it is no time.
 */
export function timeOfField(text: string, timeZone: string | undefined): number | undefined {
  const [, date, clock = '00:00', offset] = written.exec(text.trim()) ?? [];
  if (date === undefined) return undefined;
  const wall = Date.parse(`${date}T${clock}Z`);
  // JavaScript reads the 30th of February as a day of March.
  if (Number.isNaN(wall) || !new Date(wall).toISOString().startsWith(date)) return undefined;
  if (offset !== undefined) {
    const at = Date.parse(`${date}T${clock}${offset.toUpperCase()}`);
    return Number.isNaN(at) ? undefined : at;
  }
  // The offset of the moment itself, which is known only when the moment is, near changes of the clocks.
  return wall - offsetMillis(wall - offsetMillis(wall, timeZone), timeZone);
}

function offsetMillis(at: number, timeZone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)/.exec(offsetOf(at, timeZone)) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function offsetOf(at: number, timeZone: string | undefined): string {
  const name = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    .formatToParts(at)
    .find(({ type }) => type === 'timeZoneName')?.value;
  return name === undefined || name === 'GMT' ? '+00:00' : name.replace('GMT', '');
}

const steps: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

/** "5 min. ago", "in 3 hr."; within ten seconds "now". */
export function relativeTime(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < 10_000) return 'now';
  const [unit, size] = steps.find(([, each]) => Math.abs(ms) >= each) ?? (['second', 1_000] as const);
  return relative.format(Math.trunc(ms / size), unit);
}

import type { Line } from './window';

export interface Source {
  /** Which task a line is of, such as the number of its instance. */
  readonly label: string;
  readonly lines: readonly Line[];
}

export interface MergedLine extends Line {
  readonly source: string;
}

const dated = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?/;
const clock = /(?<![\d:])(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,3}))?/;
/** A time is looked for where logs have it. */
const BEGIN = 120;

/** The time at the beginning of a line in milliseconds; of one without a day, since midnight. */
export function stampOf(text: string): number | undefined {
  const begin = text.slice(0, BEGIN);
  const [stamp] = dated.exec(begin) ?? [];
  if (stamp !== undefined) {
    const iso = stamp.replace(' ', 'T').replace(',', '.');
    const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
    return Number.isNaN(at) ? undefined : at;
  }
  const [, hours, minutes, seconds, parts = '0'] = clock.exec(begin) ?? [];
  if (hours === undefined) return undefined;
  return (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000 + Number(parts.padEnd(3, '0'));
}

/**
 * Lines of several logs in the order of their times. One without a time stays behind the line before it, as those of a stack trace
 * do, and no line passes one that stands before it in its own log.
 */
export function merged(sources: readonly Source[]): readonly MergedLine[] {
  const all = sources.flatMap(({ label, lines }, index) => {
    let latest = Number.NEGATIVE_INFINITY;
    return lines.map((line, order) => {
      latest = Math.max(latest, stampOf(line.text) ?? latest);
      return { line: { ...line, source: label }, latest, index, order };
    });
  });
  return all
    .sort((a, b) => (a.latest === b.latest ? a.index - b.index || a.order - b.order : a.latest - b.latest))
    .map(({ line }) => line);
}

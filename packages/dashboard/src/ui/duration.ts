export const DAY_MS = 86_400_000;

const units: readonly (readonly [word: string, ms: number])[] = [
  ['d', DAY_MS],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];
const byWord: Readonly<Record<string, number>> = {
  ...Object.fromEntries(units),
  w: 7 * DAY_MS,
  ms: 1,
  min: 60_000,
};

/** Milliseconds of "2h 30m", "90 s" or "1d"; undefined where the text is no duration. A number alone counts minutes. */
export function parseDuration(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(trimmed)) return Math.round(Number(trimmed) * 60_000);
  let ms = 0;
  let read = 0;
  for (const [all, number, word] of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*(ms|min|[wdhms])(?![a-z])\s*/g)) {
    ms += Number(number) * byWord[word!]!;
    read += all.length;
  }
  return read === trimmed.length && read > 0 ? Math.round(ms) : undefined;
}

/** The two largest units: "2 h 30 m", "12 s", "850 ms". */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  let rest = Math.round(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [word, size] of units) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${word}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

const sizes = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

export function formatBytes(bytes: number): string {
  let at = 0;
  let value = bytes;
  while (value >= 1024 && at < sizes.length - 1) {
    value /= 1024;
    at++;
  }
  return `${at === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${sizes[at]}`;
}

export const formatNumber = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 1 });

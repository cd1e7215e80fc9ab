import { CliError } from './exit-codes.js';

/** Option of commands that read requests and deploys. */
export const fileOption = [
  '-f, --file <file...>',
  'YAML or JSON files with one or more documents; a directory stands for all such files in it, - for stdin',
] as const;

/** Parses a number that people type. */
export function wholeNumber(name: string, text: string, least: number, most = Infinity): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new CliError('usage', `${name} must be a whole number ${range}, not '${text}'`);
}

const unitMillis: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as 90s, 10m, 2h30m; a number alone is seconds. */
export function durationMillis(name: string, text: string): number {
  const parts = [...text.matchAll(/(\d{1,9})(ms|s|m|h|d)/g)];
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new CliError('usage', `${name} must be a time such as 90s, 10m or 2h30m, not '${text}'`);
  }
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMillis[unit!]!, 0);
}

/** A point in time: ISO 8601, epoch milliseconds, or how long ago. */
export function timeMillis(name: string, text: string): number {
  if (/^\d{12,15}$/.test(text)) return Number(text);
  if (/^[\d]+(ms|s|m|h|d)/.test(text)) return Date.now() - durationMillis(name, text);
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw new CliError('usage', `${name} must be a time such as 2026-01-31T12:00:00Z or 2h (ago), not '${text}'`);
}

/** The word of the API that a flag means, in any case, with hyphens, and without the TASK_ that states of tasks begin with. */
export async function knownWord(
  flag: string,
  given: string | undefined,
  words: 'RequestState' | 'RequestType' | 'ScheduleType' | 'TaskState',
): Promise<string | undefined> {
  if (given === undefined) return undefined;
  const { enumerations } = await import('muster-client');
  const all: readonly string[] = enumerations[words];
  const word = given.toUpperCase().replaceAll('-', '_');
  const found = all.find((each) => each === word || each === `TASK_${word}`);
  if (found !== undefined) return found;
  const shown = all.map((each) => each.replace(/^TASK_/, '').toLowerCase());
  throw new CliError('usage', `${flag} must be one of ${shown.join(', ')}, not '${given}'`);
}

/** Writes a duration, or an age, in its two greatest units. */
export function shownDuration(millis: number): string {
  const seconds = Math.max(0, Math.round(millis / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${Math.floor((seconds % 3_600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d${Math.floor((seconds % 86_400) / 3_600)}h`;
}

export const shownTime = (millis: number | undefined): string =>
  millis === undefined ? '' : new Date(millis).toISOString();
export const age = (since: number): string => shownDuration(Date.now() - since);
/** All states of tasks begin with it. */
export const shownState = (state: string | undefined): string => (state ?? 'TASK_LAUNCHED').replace(/^TASK_/, '');

import { didYouMean } from '../did-you-mean.js';
import { resolveHashes } from './hashed-fields.js';
import { parseQuartz, weekdayNames } from './quartz.js';

/** Words that stand for an expression. */
const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/**
 * A unix cron expression in Quartz form: seconds in front, weekdays by name (unix counts from SUN = 0, Quartz from 1),
 * and '?' in the day field that does not restrict. Five fields, or six with seconds first, or a word such as @daily.
 * `id`: that of the request, for fields with `H`.
 */
export function deriveQuartz(cron: string, id?: string): { quartz: string } | { error: string } {
  const word = cron.trim().toLowerCase();
  if (word.startsWith('@every'))
    return {
      error: `'${cron}' is no cron schedule: say scheduleType RFC5545 and a rule such as FREQ=MINUTELY;INTERVAL=5`,
    };
  if (word.startsWith('@') && !Object.hasOwn(nicknames, word)) {
    const meant = word === '@nightly' ? '@midnight' : didYouMean(word, Object.keys(nicknames));
    const hint = meant === undefined ? '' : `: did you mean ${meant}?`;
    return { error: `'${cron}' is none of ${Object.keys(nicknames).join(', ')}${hint}` };
  }
  const given = (Object.hasOwn(nicknames, word) ? nicknames[word]! : cron).trim().split(/\s+/);
  if (given.length < 5 || given.length > 6 || cron.trim() === '') {
    return {
      error: `a cron schedule has 5 fields, or 6 with seconds first; '${cron}' has ${cron.trim() ? given.length : 0}${/^[a-z]{2,}( |$)/i.test(cron.trim()) ? "; one looks like '0 12 * * *', every day at noon" : ''}`,
    };
  }
  const fields = resolveHashes(given.length === 5 ? ['0', ...given] : given, id);
  if ('error' in fields) return fields;
  const [second, minute, hour, date, month, weekday] = fields as [string, string, string, string, string, string];
  const anyDate = date === '*' || date === '?';
  const anyWeekday = weekday === '*' || weekday === '?';
  if (!anyDate && !anyWeekday) {
    return {
      error: `'${cron}' restricts both day of month and day of week; leave one of them '*', or say it by '2#1' (the first Tuesday) or by BYDAY and BYMONTHDAY of scheduleType RFC5545`,
    };
  }
  const weekdays = anyWeekday ? '?' : renumberWeekdays(weekday.toUpperCase());
  if (weekdays === undefined) return { error: `day of week: cannot read '${weekday}' (0 or 7 is Sunday) in '${cron}'` };
  const quartz = [second, minute, hour, anyWeekday ? (anyDate ? '*' : date) : '?', month, weekdays].join(' ');
  const parsed = parseQuartz(quartz);
  // The caller knows its own expression only.
  return 'error' in parsed ? { error: parsed.error.replace(`'${quartz}'`, `'${cron}'`) } : { quartz };
}

function renumberWeekdays(field: string): string | undefined {
  const special = /^([A-Z]{3}|\d)(L|#\d)$/.exec(field);
  if (special) {
    const day = unixWeekday(special[1]!);
    return day === undefined ? undefined : `${weekdayNames[day % 7]}${special[2]}`;
  }
  const items = field.split(',').map(renumberItem);
  return items.includes(undefined) ? undefined : items.join(',');
}

function renumberItem(item: string): string | undefined {
  const match = /^(?:(\*)|([A-Z]{3}|\d)(?:-([A-Z]{3}|\d))?)(?:\/(\d))?$/.exec(item);
  if (!match) return undefined;
  const [, all, from, to, stepText] = match;
  const first = all ? 0 : unixWeekday(from!);
  const last = all ? 6 : to !== undefined ? unixWeekday(to) : stepText !== undefined ? 6 : first;
  const step = Number(stepText ?? 1);
  if (first === undefined || last === undefined || step < 1) return undefined;
  // A range may end with 7, which is Sunday again, or run over the end of the week (FRI-MON).
  const end = last >= first ? last : last + 7;
  const days: number[] = [];
  for (let day = first; day <= end; day += step) days.push(day % 7);
  const distinct = [...new Set(days)];
  if (distinct.length === 7) return 'SUN-SAT';
  const isRange = step === 1 && distinct.length > 1;
  const name = (day: number): string => weekdayNames[day]!;
  return isRange ? `${name(distinct[0]!)}-${name(distinct.at(-1)!)}` : distinct.map(name).join(',');
}

/** 0 to 7, where 0 and 7 are Sunday; undefined when it is no weekday. */
function unixWeekday(text: string): number | undefined {
  const named = (weekdayNames as readonly string[]).indexOf(text);
  if (named >= 0) return named;
  const day = Number(text);
  return day >= 0 && day <= 7 ? day : undefined;
}

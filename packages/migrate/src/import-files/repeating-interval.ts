const period = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;

/** A period of ISO 8601; undefined: it is none. */
export function periodOf(text: string): { months: number; seconds: number } | undefined {
  const found = period.exec(text)?.slice(1);
  if (!found) return undefined;
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = found.map((part) =>
    Number(part ?? 0),
  );
  return { months: years * 12 + months, seconds: (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60 + seconds };
}

/** A repeating interval of ISO 8601 as a rule of RFC 5545; undefined: it cannot be one. */
export function ruleOf(schedule: string): { start?: string; text: string } | undefined {
  const [repetitions = '', start = '', length = '', ...more] = schedule.split('/');
  const times = /^R(\d*)$/.exec(repetitions)?.[1];
  const found = periodOf(length);
  if (times === undefined || !found || more.length > 0 || times === '0') return undefined;
  if (start !== '' && Number.isNaN(Date.parse(start))) return undefined;
  const frequency = frequencyOf(found.months, found.seconds);
  if (frequency === undefined) return undefined;
  return { ...(start !== '' && { start }), text: frequency + (times === '' ? '' : `;COUNT=${times}`) };
}

function frequencyOf(months: number, seconds: number): string | undefined {
  const every = (name: string, interval: number) => `FREQ=${name}${interval === 1 ? '' : `;INTERVAL=${interval}`}`;
  if (months > 0) return seconds > 0 ? undefined : every('MONTHLY', months);
  const units = [
    ['DAILY', 86_400],
    ['HOURLY', 3_600],
    ['MINUTELY', 60],
    ['SECONDLY', 1],
  ] as const;
  const unit = units.find(([, size]) => seconds > 0 && seconds % size === 0);
  return unit && every(unit[0], seconds / unit[1]);
}

const offset = /(Z|[+-]\d\d:?\d\d)$/;

/** The start of a rule. A time without an offset is in UTC. `isLocal`: a zone is given beside it, which counts in place of that of the time. */
export function timeOf(start: string, isLocal: boolean): string {
  const zoned = offset.test(start) || !start.includes('T') ? start : `${start}Z`;
  const written = isLocal ? start.replace(offset, '') : new Date(zoned).toISOString();
  return written.replace(/\.\d+/, '').replaceAll(/[-:Z]/g, '');
}

/** The day of the month of a monthly rule, if there are months without it. */
export function dayOfSomeMonths(rule: string, start: string): number | undefined {
  const day = Number(start.slice(6, 8));
  return rule.startsWith('FREQ=MONTHLY') && day > 28 ? day : undefined;
}

/** True if a moment (epoch milliseconds) is a hit of one of the few schedules that the worlds use: second, minute. */
export function isHit(quartz: string, at: number): boolean {
  const [second = '*', minute = '*'] = quartz.split(' ');
  const date = new Date(at);
  return at % 1_000 === 0 && matches(second, date.getUTCSeconds()) && matches(minute, date.getUTCMinutes());
}

function matches(field: string, value: number): boolean {
  if (field === '*') return true;
  return field.startsWith('*/') ? value % Number(field.slice(2)) === 0 : value === Number(field);
}

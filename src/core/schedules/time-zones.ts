/** Short ids that stored requests use. Those with a fixed offset (EST, MST, HST) never observe daylight saving. */
const shortIds: Readonly<Record<string, string>> = {
  ACT: 'Australia/Darwin',
  AET: 'Australia/Sydney',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'Africa/Cairo',
  AST: 'America/Anchorage',
  BET: 'America/Sao_Paulo',
  BST: 'Asia/Dhaka',
  CAT: 'Africa/Harare',
  CNT: 'America/St_Johns',
  CST: 'America/Chicago',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Addis_Ababa',
  ECT: 'Europe/Paris',
  EST: 'Etc/GMT+5',
  HST: 'Etc/GMT+10',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  MIT: 'Pacific/Apia',
  MST: 'Etc/GMT+7',
  NET: 'Asia/Yerevan',
  NST: 'Pacific/Auckland',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles',
  SST: 'Pacific/Guadalcanal',
  VST: 'Asia/Ho_Chi_Minh',
  UT: 'UTC',
  Z: 'UTC',
};

/** What is known of zones that were asked for; building a formatter takes longer than everything else about a schedule. */
const resolved = new Map<string, string>();
/** There are some 600 names, but any mix of capital and small letters is one of them. */
const maxResolved = 2_000;
const clocks = new Map<string, Intl.DateTimeFormat>();

/** The zone under the name this platform knows, or undefined when there is no such zone. */
export function resolveTimeZone(id: string): string | undefined {
  const known = resolved.get(id);
  if (known !== undefined) return known;
  const name = shortIds[id] ?? fixedOffset(id) ?? id;
  try {
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    if (resolved.size < maxResolved) resolved.set(id, zone);
    return zone;
  } catch {
    return undefined;
  }
}

/** How far the clocks of a zone are ahead of UTC at an instant, in milliseconds. */
export function offsetAt(timeZone: string, instant: number): number {
  if (timeZone === 'UTC') return 0;
  let clock = clocks.get(timeZone);
  if (!clock) clocks.set(timeZone, (clock = wallClock(timeZone)));
  const shown = /(\d+)\D+(\d+)\D+(\d+)\D+(\d+):(\d+):(\d+)/.exec(clock.format(instant));
  if (!shown) throw new Error(`Cannot read the clock of zone '${timeZone}'`);
  const [, month, date, year, hour, minute, second] = shown.map(Number) as [number, ...number[]];
  const reading = Date.UTC(year!, month! - 1, date, hour, minute, second);
  return reading - Math.floor(instant / 1_000) * 1_000;
}

const wallClock = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });

/** "GMT+2", "UTC-05:00", "+9": whole hours, as the zone database names them (its signs are turned round). */
function fixedOffset(id: string): string | undefined {
  const match = /^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?00)?$/.exec(id);
  if (!match) return undefined;
  const hours = Number(match[2]);
  if (hours === 0) return 'UTC';
  return `Etc/GMT${match[1] === '+' ? '-' : '+'}${hours}`;
}

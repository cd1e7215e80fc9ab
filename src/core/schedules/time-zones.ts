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

/** The zone under the name this platform knows, or undefined when there is no such zone. */
export function resolveTimeZone(id: string): string | undefined {
  const name = shortIds[id] ?? fixedOffset(id) ?? id;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** "GMT+2", "UTC-05:00", "+9": whole hours, as the zone database names them (its signs are turned round). */
function fixedOffset(id: string): string | undefined {
  const match = /^(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?00)?$/.exec(id);
  if (!match) return undefined;
  const hours = Number(match[2]);
  if (hours === 0) return 'UTC';
  return `Etc/GMT${match[1] === '+' ? '-' : '+'}${hours}`;
}

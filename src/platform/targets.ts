import { BlockList, isIP, isIPv4 } from 'node:net';

/** One entry of a list of targets: an address, a range of addresses, a name, or all names below one ("*.example.com"). */
const namePattern = /^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

export function isTargetPattern(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (isIP(address)) {
    const most = isIPv4(address) ? 32 : 128;
    return rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
  }
  return bits === undefined && namePattern.test(text);
}

/** Addresses that mean this machine or a network that is not public. */
const notPublic = rangesOf(
  [
    '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15',
    '224.0.0.0/4 240.0.0.0/4 ::/96 64:ff9b::/96 64:ff9b:1::/48 2002::/16 fc00::/7 fe80::/10 ff00::/8',
  ].flatMap((line) => line.split(' ')),
);

/** Where updates may be sent to, when that is limited. */
export class Targets {
  private readonly ranges: Ranges;
  private readonly names: readonly string[];

  constructor(patterns: readonly string[]) {
    this.ranges = rangesOf(patterns.filter(isAddressPattern));
    this.names = patterns.filter((pattern) => !isAddressPattern(pattern)).map(plainName);
  }

  /** Whether a host, as it stands in a uri, may be looked up and connected to at all. */
  mayName(host: string): boolean {
    const name = plainName(host);
    if (isIP(name)) return isIn(this.ranges, name);
    // Which address it has is seen when it is connected to.
    return this.knows(name) || !this.ranges.isEmpty;
  }

  /** Whether `host` may be connected to at this address: a name that is listed vouches for public addresses only. */
  mayConnect(host: string, address: string): boolean {
    const name = plainName(host);
    if (isIn(this.ranges, address)) return true;
    if (!this.knows(name)) return false;
    return !isIn(notPublic, address) || (isLocalName(name) && isIn(loopback, address));
  }

  private knows(name: string): boolean {
    return this.names.some((known) => (known.startsWith('*.') ? name.endsWith(known.slice(1)) : name === known));
  }
}

const loopback = rangesOf(['127.0.0.0/8', '::1']);
const isLocalName = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost');

const isAddressPattern = (pattern: string): boolean => isIP(pattern.split('/')[0]!) !== 0;
/** As a uri has it: IPv6 in brackets, perhaps a dot at the end of a name. */
const plainName = (host: string): string =>
  host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();

interface Ranges {
  list: BlockList;
  isEmpty: boolean;
}

function rangesOf(patterns: readonly string[]): Ranges {
  const list = new BlockList();
  for (const pattern of patterns) {
    const [address = '', bits] = pattern.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return { list, isEmpty: patterns.length === 0 };
}

/** An IPv4 address in the form of IPv6 is looked for as what it is. */
function isIn({ list }: Ranges, address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain)?.[1];
  if (mapped) return list.check(mapped, 'ipv4');
  return list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

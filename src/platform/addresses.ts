import { BlockList, isIP, isIPv4 } from 'node:net';

/** The one place that judges addresses: which are of this machine, which of a network that is not public, which of a given range. */
export class AddressRanges {
  private readonly list = new BlockList();

  /** Addresses and ranges such as 10.0.0.0/8. */
  constructor(private readonly patterns: readonly string[]) {
    for (const pattern of patterns) {
      const [address = '', bits] = pattern.split('/');
      const family = familyOf(address);
      if (bits === undefined) this.list.addAddress(address, family);
      else this.list.addSubnet(address, Number(bits), family);
    }
  }

  get isEmpty(): boolean {
    return this.patterns.length === 0;
  }

  /** An IPv4 address in the form of IPv6 is looked for as both. What is no address is in no range. */
  has(text: string): boolean {
    const address = text.replace(/%.*$/, '');
    return isIP(address) !== 0 && this.list.check(address, familyOf(address));
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6');

export function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  if (!isIP(address) || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}

/**
 * The registries of special addresses of IANA (iana-ipv4-special-registry, iana-ipv6-special-registry), without regard to those
 * few within a range that are reached from everywhere; multicast; and ranges that were given up, but which systems still route: relays
 * of 6to4 and site-local addresses.
 */
const special = new AddressRanges(
  [
    '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24',
    '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4',
    '240.0.0.0/4 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20',
  ].flatMap((line) => line.split(' ')),
);
/**
 * All that IANA has given out of IPv6 for hosts. What lies outside is special or of nobody yet: loopback, IPv4 in other clothes
 * (::/96, ::ffff:0:0:0/96, NAT64 in 64:ff9b::/96 and 64:ff9b:1::/48, which lead to whatever address they hold), discard (100::/64),
 * segment routing (5f00::/16), local networks (fc00::/7, fe80::/10, fec0::/10), multicast (ff00::/8).
 */
const unicast = new AddressRanges(['2000::/3']);
const mapped = new AddressRanges(['::ffff:0:0/96']);

/**
 * True if an address is one of the public Internet. An IPv4 address in the form of IPv6 is judged by the IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  const address = text.replace(/%.*$/, '');
  if (isIP(address) === 0 || special.has(address)) return false;
  return isIPv4(address) || mapped.has(address) || unicast.has(address);
}

const loopback = new AddressRanges(['127.0.0.0/8', '::1']);

/** As a uri has it: IPv6 in brackets, perhaps a dot at the end of a name. */
export const plainHost = (host: string): string =>
  host
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
    .toLowerCase();

/** As a uri has it. */
export const bracketed = (address: string): string => (address.includes(':') ? `[${address}]` : address);

export const isLoopbackAddress = (address: string): boolean => loopback.has(address);
/** Names that are for the loopback. Which address one below localhost has is for the resolver to say. */
export const isLocalName = (name: string): boolean => /^(.+\.)?localhost$/.test(plainHost(name));
/** True if a connection to this host stays on this machine. */
export const isLoopbackHost = (host: string): boolean =>
  plainHost(host) === 'localhost' || isLoopbackAddress(plainHost(host));

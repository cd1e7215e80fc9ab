import { isIP } from 'node:net';
import {
  AddressRanges,
  isAddressOrRange,
  isLocalName,
  isLoopbackAddress,
  isPublicAddress,
  plainHost,
} from './addresses.js';

/** One entry of a list of targets: an address, a range of addresses, a name, or all names below one ("*.example.com"). */
const namePattern = /^(\*\.)?[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

export const isTargetPattern = (text: string): boolean =>
  isAddressOrRange(text) || (!isIP(text) && namePattern.test(text));

/** Addresses to which updates may be sent, when they are limited. */
export class Targets {
  private readonly ranges: AddressRanges;
  private readonly names: readonly string[];

  constructor(patterns: readonly string[]) {
    this.ranges = new AddressRanges(patterns.filter(isAddressOrRange));
    this.names = patterns.filter((pattern) => !isAddressOrRange(pattern)).map(plainHost);
  }

  /** True if a host, as it stands in a uri, may be looked up and connected to at all. */
  mayName(host: string): boolean {
    const name = plainHost(host);
    if (isIP(name)) return this.ranges.has(name);
    // Which address it has is seen when it is connected to.
    return this.knows(name) || !this.ranges.isEmpty;
  }

  /** True if `host` may be connected to at this address: a name that is listed vouches for public addresses only. */
  mayConnect(host: string, address: string): boolean {
    const name = plainHost(host);
    if (this.ranges.has(address)) return true;
    if (!this.knows(name)) return false;
    return isPublicAddress(address) || (isLocalName(name) && isLoopbackAddress(address));
  }

  private knows(name: string): boolean {
    return this.names.some((known) => (known.startsWith('*.') ? name.endsWith(known.slice(1)) : name === known));
  }
}

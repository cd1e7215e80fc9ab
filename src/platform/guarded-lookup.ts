import { lookup as lookUp, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isPublicAddress } from './addresses.js';
import type { Targets } from './targets.js';

/** Rules about hosts that may be asked, and the setting that states them. */
export interface TargetRules {
  targets: Pick<Targets, 'mayName' | 'mayConnect'>;
  setting: string;
}

/** Any host with an address of the public Internet. */
export const publicTargets: TargetRules['targets'] = {
  mayName: (host) => isIP(plainAddress(host)) === 0 || isPublicAddress(plainAddress(host)),
  mayConnect: (_host, address) => isPublicAddress(address),
};

const plainAddress = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** Throws for a host that may not be asked. An address is not looked up, so it is judged here; a name is, when it is connected to. */
export function refuseForeign({ targets, setting }: TargetRules, host: string): void {
  const address = plainAddress(host);
  const may = isIP(address) ? targets.mayConnect(host, address) : targets.mayName(host);
  if (!may) throw new Error(`${host} is not in ${setting}`);
}

/**
 * Looks a name up and answers only addresses that may be connected to: the one that was looked at is the one that is connected
 * to, whatever the name means a moment later.
 */
export const lookUpWithin =
  ({ targets, setting }: TargetRules): LookupFunction =>
  (host, options, answer) => {
    lookUp(host, { ...options, all: true }, (cause, found) => {
      const may = (cause ? [] : found).filter(({ address }) => targets.mayConnect(host, address));
      if (cause ?? may.length === 0) {
        const refused = new Error(`${host} has no address that ${setting} allows`);
        return answer(cause ?? refused, []);
      }
      if (options.all) return answer(null, may);
      const [first] = may as [LookupAddress];
      answer(null, first.address, first.family);
    });
  };

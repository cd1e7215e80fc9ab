import type { EmailDestination } from '../model/enums.js';

/** As long as an address can be. */
const longestAddress = 320;

/** Mails go to people. More addresses than this on one mail are a mistake, or worse. */
export const mostRecipients = 100;

/**
 * One address and nothing else: nothing that a header or a command of the protocol would take for its end, for a second
 * address or for a name.
 */
export const isMailAddress = (text: string): boolean =>
  text.length <= longestAddress && /^[^\s@"<>(),;:\\[\]\p{C}]+@[^\s@"<>(),;:\\[\]\p{C}]+$/u.test(text);

export interface Recipients {
  to: string[];
  cc: string[];
  /** Addresses that were left out because there were too many. */
  leftOut: number;
}

interface People {
  admins: readonly string[];
  /** User who did it, if known. */
  actionTaker?: string;
  /** True when mails may go to the address. */
  mayWriteTo: (address: string) => boolean;
}

/** undefined: no address is left to write to. Copies alone are never sent. */
export function recipientsOf(audience: Audience, { admins, actionTaker, mayWriteTo }: People): Recipients | undefined {
  const wants = new Set(audience.destinations);
  let to = wants.has('OWNERS') ? [...audience.owners] : [];
  let cc: string[] = [];
  if (wants.has('ADMINS')) {
    if (to.length === 0) to = [...admins];
    else cc = [...admins];
  }
  if (actionTaker !== undefined) {
    // People are not told what they did themselves, unless that is wanted.
    if (wants.has('ACTION_TAKER')) to.push(actionTaker);
    else to = to.filter((address) => !isSame(address, actionTaker));
  }
  const seen = new Set<string>();
  const usable = (address: string): boolean => {
    const key = address.toLowerCase();
    if (seen.has(key) || !isMailAddress(address) || !mayWriteTo(address)) return false;
    seen.add(key);
    return true;
  };
  const allTo = to.map((address) => address.trim()).filter(usable);
  const allCc = cc.map((address) => address.trim()).filter(usable);
  if (allTo.length === 0) return undefined;
  const keptTo = allTo.slice(0, mostRecipients);
  const keptCc = allCc.slice(0, mostRecipients - keptTo.length);
  return { to: keptTo, cc: keptCc, leftOut: allTo.length + allCc.length - keptTo.length - keptCc.length };
}

const isSame = (a: string, b: string): boolean => a.trim().toLowerCase() === b.trim().toLowerCase();

/** Recipients, before addresses are checked one by one. */
export interface Audience {
  destinations: readonly EmailDestination[];
  owners: readonly string[];
}

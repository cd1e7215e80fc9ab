const perSecond = 50;
/** As many may come at once. */
const most = 100;
const mostKnown = 10_000;

interface Allowance {
  left: number;
  /** By the monotonic clock. */
  at: number;
}

/** Limits queries of one address; of IPv6, of one network. */
export class AddressRate {
  private known = new Map<string, Allowance>();

  /** False: it has to wait. `now`: milliseconds by the monotonic clock. */
  take(address: string, now: number): boolean {
    const key = networkOf(address);
    const former = this.known.get(key);
    const left = former ? Math.min(most, former.left + ((now - former.at) * perSecond) / 1_000) : most;
    if (left < 1) return false;
    // Addresses of UDP can be made up: so many that they are not worth knowing.
    if (!former && this.known.size >= mostKnown) this.known = new Map();
    this.known.set(key, { left: left - 1, at: now });
    return true;
  }
}

const networkOf = (address: string): string =>
  address.includes('.') ? address.replace(/^::ffff:/i, '') : groupsOf(address).slice(0, 4).join(':');

function groupsOf(address: string): string[] {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]];
  return tail === undefined ? first : [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
}

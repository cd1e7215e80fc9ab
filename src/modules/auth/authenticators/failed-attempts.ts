import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { backOffMillis } from '../../../core/back-off.js';
import { hasPassed } from '../../../core/elapsed.js';
import { RecentAnswers } from '../recent-answers.js';

const addressesAtMost = 10_000;
/** An address from which nothing failed for so long is one from which nothing ever failed. */
const forgottenAfterMillis = 600_000;
const firstWaitMillis = 1_000;
const longestWaitMillis = 30_000;
/** Proofs per address that are known again. */
const proofsAtMost = 20;
/** A proof that has failed before is a script that was not told, rather than a guess: it counts less. */
const weightOfRepeated = 0.2;

interface Attempts {
  failures: number;
  /** Digests of the last proofs that failed. */
  proofs: string[];
  waitsUntil: number;
}

/** Counts wrong proofs of who calls by the address they come from, and says how long others from there have to wait. */
export class FailedAttempts {
  private readonly known = new RecentAnswers<Attempts>(addressesAtMost);

  constructor(private readonly freeFailures: number) {}

  /** 0: not at all. */
  waitSeconds(address: string, now: number): number {
    if (this.known.isEmpty) return 0;
    const known = this.known.get(placeOf(address));
    if (!known || hasPassed(known.at, longestWaitMillis, now)) return 0;
    const { waitsUntil } = known.answer;
    return Math.max(0, Math.ceil((waitsUntil - now) / 1_000));
  }

  /** `digest`: of the proof. */
  note(address: string, digest: string, now: number): void {
    const place = placeOf(address);
    const before = this.known.get(place);
    const { failures, proofs }: Omit<Attempts, 'waitsUntil'> =
      before && !hasPassed(before.at, forgottenAfterMillis, now) ? before.answer : { failures: 0, proofs: [] };
    const counted = failures + (proofs.includes(digest) ? weightOfRepeated : 1);
    const beyond = Math.floor(counted - this.freeFailures);
    const waitMillis = beyond < 0 ? 0 : backOffMillis(beyond + 1, firstWaitMillis, longestWaitMillis);
    const last = [...proofs.filter((known) => known !== digest), digest].slice(-proofsAtMost);
    this.known.put(place, { failures: counted, proofs: last, waitsUntil: now + waitMillis }, now);
  }
}

export const digestOf = (proof: string): string => createHash('sha256').update(proof).digest('base64');

/** An address, or the network of 64 bits that one caller has as a rule. */
function placeOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/, '');
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.replace(/%.*$/, '').split('::');
  const [before, after] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const groups =
    tail === undefined
      ? before!
      : [...before!, ...Array<string>(8 - before!.length - after!.length).fill('0'), ...after!];
  return groups.slice(0, 4).join(':');
}

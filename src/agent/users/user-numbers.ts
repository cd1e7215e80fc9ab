import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { releasePidFile, takePidFile } from '../../platform/process/pid-file.js';
import { allPids } from '../processes/processes.js';

/** Numbers of users, each also that of a group. */
export interface NumberRange {
  first: number;
  count: number;
}

/** Numbers are got in blocks, so that what costs something is done once for many tasks. */
const blockSize = 256;
/** Below are the accounts of distributions and of people, above those that systems give out for a while. */
const [lowestWithout, highestWithout] = [20_000, 60_000];
/** Namespaces of containers usually have about 65,536. */
const fewNumbers = 70_000;

/**
 * The range as far as this machine has it: in a user namespace only some numbers exist (the texts are those of
 * /proc/self/uid_map and gid_map). Otherwise the top of what there is; undefined: there is no user but our own.
 */
export function usableRange(wanted: NumberRange, uidMap: string, gidMap: string): NumberRange | undefined {
  const segments = intervalsOf(uidMap).flatMap((uids) =>
    intervalsOf(gidMap).map((gids) => ({
      begin: Math.max(uids.begin, gids.begin),
      end: Math.min(uids.end, gids.end),
    })),
  );
  if (segments.some(({ begin, end }) => begin <= wanted.first && wanted.first + wanted.count <= end)) return wanted;
  const [top] = segments.toSorted((a, b) => b.end - a.end);
  if (!top || top.end - top.begin < 2) return undefined;
  const isSmall = top.end <= fewNumbers;
  const end = isSmall && top.end > highestWithout ? highestWithout : top.end;
  const lowest = Math.max(top.begin, 1, isSmall && end > 2 * lowestWithout ? lowestWithout : Math.floor(end / 2));
  const first = Math.max(lowest, end - wanted.count);
  return first < end ? { first, count: end - first } : undefined;
}

const intervalsOf = (map: string): { begin: number; end: number }[] =>
  map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([begin = 0, , length = 0]) => ({ begin, end: begin + length }));

/** Gives each task a number that no other process of this machine has. They go round, so that none comes back soon. */
export class UserNumbers {
  private readonly inUse = new Set<number>();
  private free: number[] = [];
  private next: number;
  /** Blocks that no other agent of this machine has. */
  private readonly claimed = new Set<number>();

  /** `claims`: a directory that all agents of this machine use, closed to tasks. A file in it holds a block for one process. */
  constructor(
    readonly range: NumberRange,
    private readonly claims: string,
  ) {
    this.next = randomInt(this.blocks);
  }

  private get blocks(): number {
    return Math.ceil(this.range.count / blockSize);
  }

  take(): number {
    for (;;) {
      const number = this.free.shift();
      if (number === undefined) this.claim();
      else if (!this.inUse.has(number)) {
        this.inUse.add(number);
        return number;
      }
    }
  }

  /** A task that an earlier agent left has it. */
  keep(number: number): void {
    this.inUse.add(number);
    if (this.contains(number)) this.hold(this.blockOf(number));
  }

  /**
   * True when no other agent of this machine assigns it. While an agent is down its numbers without a process are free
   * to others.
   */
  isOursAlone(number: number): boolean {
    return this.contains(number) && this.claimed.has(this.blockOf(number));
  }

  release(number: number): void {
    this.inUse.delete(number);
  }

  contains(number: number): boolean {
    return this.range.first <= number && number < this.range.first + this.range.count;
  }

  close(): void {
    for (const block of this.claimed) this.releaseBlock(block);
  }

  /** The next block that is not taken, with those of its numbers that no process has. */
  private claim(): void {
    const taken = numbersOfProcesses();
    // Another agent of this machine may hold some; in case all are held, by whatever, what no process has is good enough.
    for (const mustBeOurs of [true, false]) {
      for (let checks = 0; checks < this.blocks; checks++) {
        const block = this.next;
        this.next = (block + 1) % this.blocks;
        if (mustBeOurs && !this.hold(block)) continue;
        this.free = this.numbersOf(block).filter((number) => !taken.has(number) && !this.inUse.has(number));
        this.letGo(block);
        if (this.free.length > 0) return;
      }
    }
    throw new Error(`All ${this.range.count} users for tasks are in use (cluster.local.taskUsers)`);
  }

  private blockOf(number: number): number {
    return Math.floor((number - this.range.first) / blockSize);
  }

  private numbersOf(block: number): number[] {
    const begin = this.range.first + block * blockSize;
    const length = Math.min(blockSize, this.range.count - block * blockSize);
    return Array.from({ length }, (_, index) => begin + index);
  }

  private fileOf(block: number): string {
    return join(this.claims, `${this.range.first + block * blockSize}.pid`);
  }

  private hold(block: number): boolean {
    if (!this.claimed.has(block) && takePidFile(this.fileOf(block)) === undefined) this.claimed.add(block);
    return this.claimed.has(block);
  }

  private releaseBlock(block: number): void {
    releasePidFile(this.fileOf(block));
    this.claimed.delete(block);
  }

  /** Blocks but this one of which no task has a number any more. */
  private letGo(present: number): void {
    for (const block of this.claimed)
      if (block !== present && !this.numbersOf(block).some((number) => this.inUse.has(number)))
        this.releaseBlock(block);
  }
}

/** Every user (real, effective, saved, of files) of every process. One that has ended and waits for its parent has none. */
function numbersOfProcesses(): Set<number> {
  const numbers = new Set<number>();
  for (const pid of allPids()) {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      if (/^State:\s+[ZX]/m.test(status)) continue;
      const [, line = ''] = /^Uid:(.*)$/m.exec(status) ?? [];
      for (const number of line.trim().split(/\s+/)) numbers.add(Number(number));
    } catch {
      // It has gone meanwhile.
    }
  }
  return numbers;
}

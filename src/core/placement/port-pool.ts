interface PortRange {
  begin: number;
  end: number;
}

/** The free ports of one machine, as ranges without gaps between their ends. */
export class PortPool {
  private free: PortRange[];

  constructor(ranges: readonly PortRange[], used: Iterable<number>) {
    this.free = merge(ranges);
    for (const port of used) this.remove(port);
  }

  get count(): number {
    return this.free.reduce((sum, range) => sum + range.end - range.begin + 1, 0);
  }

  /** Free ports, as ranges in ascending order. */
  get ranges(): readonly Readonly<PortRange>[] {
    return this.free;
  }

  has(port: number): boolean {
    return this.free.some((range) => port >= range.begin && port <= range.end);
  }

  /** Could `take` be called? */
  canTake(count: number, literal: readonly number[]): boolean {
    if (literal.some((port) => !this.has(port))) return false;
    return count === 0 || this.count - literal.length >= count;
  }

  /** `count` ports out of the ranges, in one block where there is one that long; then the literal ones. */
  take(count: number, literal: readonly number[], random: () => number): number[] {
    for (const port of literal) this.remove(port);
    const taken: number[] = [];
    while (taken.length < count) {
      const block = this.randomBlock(count - taken.length, random);
      for (const port of block) this.remove(port);
      taken.push(...block);
    }
    return [...taken, ...literal];
  }

  private randomBlock(wanted: number, random: () => number): number[] {
    const longest = Math.max(...this.free.map(length));
    const size = Math.min(wanted, longest);
    const fitting = this.free.filter((range) => length(range) >= size);
    const range = fitting[randomBelow(random, fitting.length)]!;
    const first = range.begin + randomBelow(random, length(range) - size + 1);
    return Array.from({ length: size }, (_, offset) => first + offset);
  }

  private remove(port: number): void {
    const index = this.free.findIndex((range) => port >= range.begin && port <= range.end);
    if (index < 0) return;
    const { begin, end } = this.free[index]!;
    const rest = [
      { begin, end: port - 1 },
      { begin: port + 1, end },
    ].filter((range) => range.begin <= range.end);
    this.free.splice(index, 1, ...rest);
  }
}

const length = ({ begin, end }: PortRange): number => end - begin + 1;

function merge(ranges: readonly PortRange[]): PortRange[] {
  const merged: PortRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.begin - b.begin)) {
    const last = merged.at(-1);
    if (last && range.begin <= last.end + 1) last.end = Math.max(last.end, range.end);
    else merged.push({ ...range });
  }
  return merged;
}

/** A small repeatable generator (mulberry32): numbers from 0 up to 1, the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** 0 to count - 1. */
const randomBelow = (random: () => number, count: number): number => Math.floor(random() * count);

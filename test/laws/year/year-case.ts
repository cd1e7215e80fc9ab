import type { Request } from '../../../src/core/model/request.js';
import type { WallRule } from './wall-clock.js';

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;

export const yearBegins = Date.parse('2026-01-01T00:00:00Z') + 7;
export const yearEnds = Date.parse('2027-01-01T00:00:00Z');

export interface Span {
  from: number;
  to: number;
}

/** A time without a leader. */
export interface Absence extends Span {
  /** The last one died in the pass of this moment, after it had stored what it decided: nothing was started or killed. */
  diesAfterLook: boolean;
}

/** One request, and what happens in its year. */
export interface YearCase {
  request: Request;
  /** What its schedules, and its exclusions that recur, name. */
  rules: readonly WallRule[];
  closed: readonly { rule: WallRule; durationMillis: number }[];
  absences: readonly Absence[];
  pauses: readonly Span[];
  /** Times in which no machine has room. */
  full: readonly Span[];
  /** Lengths of its tries. */
  runMillis: readonly number[];
  /** Of 100 tries, those that fail, and those that are lost with their machine. */
  failing: number;
  lost: number;
  seed: number;
}

export type TryEnd =
  { kind: 'FINISHED' } | { kind: 'FAILED'; exitCode: number } | { kind: 'LOST' } | { kind: 'TIME_LIMIT' };

/** Course of a try, whoever asks: what the machine does. `launch`: how often it was begun before. */
export function lifeOf(
  { runMillis, failing, lost, seed }: YearCase,
  { at, attempt, launch }: { at: number; attempt: number; launch: number },
): { runFor: number; end: TryEnd } {
  const draw = random(seed, Math.floor(at / 1_000), attempt, launch);
  const length = runMillis[Math.floor(draw() * runMillis.length)]!;
  const share = draw() * 100;
  const kind = draw();
  // Tries that begin together do not end together: nobody promises which of two ends is counted first.
  const runFor = length + Math.floor(draw() * 10_000);
  if (share < lost && launch < 3) return { runFor, end: { kind: 'LOST' } };
  if (share >= lost + failing) return { runFor, end: { kind: 'FINISHED' } };
  if (kind < 0.2) return { runFor, end: { kind: 'TIME_LIMIT' } };
  return { runFor, end: { kind: 'FAILED', exitCode: kind < 0.6 ? 1 : 75 } };
}

/** Numbers from 0 to 1 that depend on the seeds alone (mulberry32). */
export function random(...seeds: number[]): () => number {
  let state = 0x9e3779b9;
  for (const seed of seeds) state = Math.imul(state ^ seed, 0x85ebca6b) ^ (state >>> 13);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A request that its failures paused is looked at, and goes on after this. */
export const repairMillis = 7 * hour + 13;
/** Grace of a kill. */
export const graceMillis = 20_000;

/** A try of a run: its planned time, its number, when it was started. */
export interface Start {
  at: number;
  attempt: number;
  start: number;
}

export const spanAt = <T extends Span>(spans: readonly T[], time: number): T | undefined => {
  // The last one that began; they do not overlap.
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle]!.from <= time) low = middle + 1;
    else high = middle;
  }
  const found = spans[low - 1];
  return found && time < found.to ? found : undefined;
};

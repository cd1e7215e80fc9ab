import type { RequestGroups } from './access-rules.js';

/**
 * A name is not an identity: an id may have had several requests, one after the other. A life is one of them, with the
 * groups it has, or had last, and what came into being in it belongs to these.
 */
export interface RequestIncarnation {
  /** Absent: not known. */
  groups?: RequestGroups;
  /** It ended. */
  gone: boolean;
  /** Epoch milliseconds of the end of the life before, and of its own; absent: it is the first, or the last. */
  after?: number;
  until?: number;
}

/** Exclusive bounds in epoch milliseconds; both absent: all times. */
export interface TimeRange {
  after?: number;
  before?: number;
}

/** `ended`: in the order of their ends. `last`: the request that is there; if there is none, what its history saw last. */
export function incarnationsOf(
  ended: readonly { endedAt: number; groups?: RequestGroups }[],
  last: { groups: RequestGroups; gone: boolean } | undefined,
): RequestIncarnation[] {
  const lives: RequestIncarnation[] = ended.map(({ endedAt, groups }, index) => ({
    groups,
    gone: true,
    after: ended[index - 1]?.endedAt,
    until: endedAt,
  }));
  if (last && !last.gone) return [...lives, { ...last, after: ended.at(-1)?.endedAt }];
  const newest = lives.pop();
  // What was written after the end is part of what ended.
  if (newest) return [...lives, { ...newest, until: undefined }];
  return last ? [last] : [];
}

/** The life that something of this moment belongs to. */
export const incarnationAt = (lives: readonly RequestIncarnation[], at: number): RequestIncarnation | undefined =>
  lives.find(({ until }) => until === undefined || at <= until);

/** The newest lives, without a gap, that may be seen, and the times they span; undefined: none may be. */
export function newestVisible(
  lives: readonly RequestIncarnation[],
  may: (life: RequestIncarnation) => boolean,
): { past: TimeRange; lives: readonly RequestIncarnation[] } | undefined {
  const last = lives.findLastIndex(may);
  if (last === -1) return undefined;
  const first = lives.slice(0, last).findLastIndex((life) => !may(life)) + 1;
  const { until } = lives[last]!;
  const past = { after: lives[first]!.after, before: until === undefined ? undefined : until + 1 };
  return { past, lives: lives.slice(first, last + 1) };
}

/** True when the time lies within the range. */
export const isWithin = ({ after = -Infinity, before = Infinity }: TimeRange, at: number): boolean =>
  at > after && at < before;

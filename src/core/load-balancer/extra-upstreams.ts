import type { Upstream } from './request-body.js';

export type UpstreamCheck =
  | { kind: 'nothing' }
  | { kind: 'remove'; extra: Upstream[] }
  /** Nothing of what is there would be left: more likely it is us who see it wrong. */
  | { kind: 'refuse'; extra: Upstream[] };

/** Finds upstreams of a group behind which there is no task. */
export function findExtraUpstreams(
  present: readonly Upstream[],
  wanted: readonly Upstream[],
  group: string,
): UpstreamCheck {
  const known = new Set(wanted.map(keyOf));
  const ofGroup = present.filter((upstream) => upstream.group === group);
  const extra = ofGroup.filter((upstream) => !known.has(keyOf(upstream)));
  if (extra.length === 0) return { kind: 'nothing' };
  return { kind: extra.length === ofGroup.length ? 'refuse' : 'remove', extra };
}

const keyOf = ({ upstream, group, rackId }: Upstream): string => JSON.stringify([upstream, group, rackId ?? null]);

import type { Event } from 'muster-client';

export interface Told {
  readonly id: string;
  readonly event: Event;
}

/** Both lists as one, the newest first, without what is in both. */
export function together(a: readonly Told[], b: readonly Told[]): readonly Told[] {
  const byId = new Map([...b, ...a].map((told) => [told.id, told]));
  return [...byId.values()].sort((one, other) => Number(other.id) - Number(one.id));
}

import type { EntityManager } from 'typeorm';

const followers = new WeakMap<EntityManager, Set<() => void>>();

/** `work` is done once, right after `tx` was committed; never when it was not. For what others are told of it. */
export function afterCommit(tx: EntityManager, work: () => void): void {
  const present = followers.get(tx);
  if (present) present.add(work);
  else followers.set(tx, new Set([work]));
}

/** What is to follow on a transaction that stands. */
export function followCommit(tx: EntityManager): void {
  for (const work of followers.get(tx) ?? []) work();
  followers.delete(tx);
}

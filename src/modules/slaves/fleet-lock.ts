import type { EntityManager } from 'typeorm';

/** Key of the advisory lock that stands for "which machines may be used" (any number, but the same everywhere). */
const fleet = 7_099_001;

/** Taken by every change of a machine's state: waits for placements in flight and holds new ones back until `tx` ends. */
export async function lockFleet(tx: EntityManager): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock($1)', [fleet]);
}

/** Taken by every placement, after the locks on its requests: the machines it chose stay usable until it commits. */
export async function shareFleet(tx: EntityManager): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock_shared($1)', [fleet]);
}

import type { Transaction } from './transaction.js';

/**
 * The commit of `tx` does not wait for the disk; the next one that does makes it durable as well. Only for what is done
 * again, with the same outcome, should the database lose its last moments: nothing outside may have been told of it.
 */
export async function commitLazily(tx: Transaction): Promise<void> {
  await tx.query('SET LOCAL synchronous_commit TO off');
}

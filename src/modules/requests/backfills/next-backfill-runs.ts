import { isRunnable } from '../../../core/model/enums.js';
import type { PendingRequest } from '../../../core/model/task.js';
import { backfillEntry } from '../../../core/requests/backfill.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Rows } from '../../../rows.js';
import type { StoredRequest } from '../request.repository.js';

/** Gives their turn to times of backfills, and answers the entries of their runs. The row of the request is locked in `tx`. */
export async function nextBackfillRuns(
  rows: Rows,
  tx: Transaction,
  { request, state, activeDeployId }: StoredRequest,
  now: number,
): Promise<PendingRequest[]> {
  if (!isRunnable(state) || activeDeployId === undefined) return [];
  const taken = await rows.runBackfills.take(tx, request.id);
  return taken.map((time) => backfillEntry(time, { requestId: request.id, deployId: activeDeployId }, now));
}

import type { PauseRequest } from '../../../core/model/request.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import type { Rows } from '../../../rows.js';
import type { StoredRequest } from '../request.repository.js';

interface PauseOrder extends Omit<PauseRequest, 'durationMillis'> {
  user?: string;
  now: number;
}

/** Pauses a request whose row is locked in `tx`, and ends its bounce, if there is one. The caller queues the mail. */
export async function storePause(
  rows: Rows,
  tx: Transaction,
  stored: StoredRequest,
  { now, user, killTasks, message, actionId, runShellCommandBeforeKill }: PauseOrder,
): Promise<StoredRequest> {
  const { request } = stored;
  await rows.requestCleanups.create(tx, {
    user,
    cleanupType: 'PAUSING',
    timestamp: now,
    killTasks,
    requestId: request.id,
    message,
    actionId,
    runShellCommandBeforeKill,
  });
  await rows.requestCleanups.remove(tx, request.id, ['BOUNCE', 'INCREMENTAL_BOUNCE']);
  await rows.expiringActions.remove(tx, 'BOUNCE', request.id);
  await rows.requestHistory.record(tx, { createdAt: now, eventType: 'PAUSED', user, request, message });
  return rows.requests.save(tx, { ...stored, state: 'PAUSED', bouncing: false, changedAt: now });
}

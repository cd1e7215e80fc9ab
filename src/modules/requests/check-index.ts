import { changedSince, type CheckedState } from '../../core/requests/check-index.js';
import { SchedulerError } from '../../platform/errors.js';

/** 409 when the request has changed since a caller planned with it. Call it under the lock on its row. */
export function refuseChanged(
  stored: CheckedState & { request: { id: string } },
  checkIndex: string | undefined,
): void {
  if (checkIndex === undefined) return;
  const changes = changedSince(checkIndex, stored);
  if (!changes) {
    const message = `checkIndex '${checkIndex}' is not one that a plan has answered`;
    throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'checkIndex', rule: 'form', message }]);
  }
  if (changes.length === 0) return;
  const message = `Request '${stored.request.id}' has changed since it was planned with: ${changes.join(', ')}`;
  throw new SchedulerError('CHANGED_MEANWHILE', message);
}

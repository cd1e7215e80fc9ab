import type { PendingRequest } from '../../core/model/task.js';

/** A pending request as answers show it: with all overrides, also those that are empty. */
export const shownPendingRequest = (pending: PendingRequest): PendingRequest => ({
  ...pending,
  objstoreUploaderAdditionalFiles: pending.objstoreUploaderAdditionalFiles ?? [],
  envOverrides: pending.envOverrides ?? {},
  requiredSlaveAttributeOverrides: pending.requiredSlaveAttributeOverrides ?? {},
  allowedSlaveAttributeOverrides: pending.allowedSlaveAttributeOverrides ?? {},
  extraArtifacts: pending.extraArtifacts ?? [],
});

import type { RunNowRequest } from '../model/request.js';
import type { PendingRequest } from '../model/task.js';

/** What a run asks for beyond its deploy, as its entry in the pending queue carries it. */
export const runWishes = (run: RunNowRequest): Partial<PendingRequest> => ({
  cmdLineArgsList: run.commandLineArgs,
  skipHealthchecks: run.skipHealthchecks,
  resources: run.resources,
  objstoreUploaderAdditionalFiles: run.objstoreUploaderAdditionalFiles,
  runAsUserOverride: run.runAsUserOverride,
  envOverrides: run.envOverrides,
  requiredSlaveAttributeOverrides: run.requiredSlaveAttributeOverrides,
  allowedSlaveAttributeOverrides: run.allowedSlaveAttributeOverrides,
  extraArtifacts: run.extraArtifacts,
  runAt: run.runAt,
});

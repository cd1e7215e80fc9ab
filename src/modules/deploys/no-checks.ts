import type { Response } from 'express';
import type { Deploy } from '../../core/model/deploy.js';
import type { AcceptanceChecks } from './deploy-acceptance.service.js';

const noChecks =
  '299 muster "deploy.canaryDeploySettings.acceptanceMode: this installation has no checks, so every group is accepted"';

/** Warns callers who ask for a gate and have none, as the deploy goes through all the same. */
export function warnOfNoChecks(response: Response, deploy: Deploy, acceptance: AcceptanceChecks): void {
  const isGated = deploy.canaryDeploySettings?.acceptanceMode === 'CHECKS';
  if (isGated && acceptance.names().length === 0) response.append('Warning', noChecks);
}

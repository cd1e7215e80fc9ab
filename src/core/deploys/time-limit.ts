import { deployHealthTimeoutMillis, healthcheckTimings, healthyAfterRunningMillis } from '../health/index.js';
import type { Deploy } from '../model/deploy.js';
import type { DeploySettings } from './view.js';

/**
 * Milliseconds one step may take: the time for its tasks to start, and the time for a running one to prove itself.
 * It counts from progress.timestamp, which every new step resets, so a deploy of many steps may take many times as long.
 */
export function stepTimeLimitMillis(deploy: Deploy, settings: DeploySettings): number {
  const proving =
    deploy.healthcheck && deploy.skipHealthchecksOnDeploy !== true
      ? healthcheckTimings(deploy.healthcheck, settings).totalMillis
      : healthyAfterRunningMillis(deploy, settings);
  return deployHealthTimeoutMillis(deploy, settings) + proving;
}

import { SettingsFile, type Settings } from '../../../src/platform/settings/settings.js';
import { reservedAttributes } from '../rules/constraints.js';

/** Settings of every world: as short waits as allowed, so that much happens in little time. */
export const worldSettings: Partial<Settings> & Pick<Settings, 'crashLoop'> = {
  reserveSlavesWithAttributes: reservedAttributes,
  cooldownMinScheduleSeconds: 2,
  crashLoop: { ...SettingsFile.parse({}).crashLoop, cooldownFailureThreshold: 4, evaluateCooldownOverMinutes: 1 },
  considerTaskHealthyAfterRunningForSeconds: 2,
  deployHealthyBySeconds: 20,
  killNonLongRunningTasksInCleanupAfterSeconds: 20,
  pendingDeployHoldTaskDuringDecommissionMillis: 10_000,
  askDriverToKillTasksAgainAfterMillis: 20_000,
  startNewReconcileEverySeconds: 10,
  reconcileLaunchAfterMillis: 20_000,
  hardKillAfterMillis: 5_000,
  maxDecommissioningSlaves: 100,
};

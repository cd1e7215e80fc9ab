import { shares, type PreferenceRules, type ScoringRules, type ShuffleRules } from '../../core/usage/index.js';
import type { Settings } from '../../platform/settings/settings.js';

/* What the settings mean to the decisions about usage. */

export function scoringRules({ cluster, reCheckMetricsForLargeNewTaskCount }: Settings): ScoringRules {
  const [cpus = 0, memory = 0, disk = 0] = shares(cluster.cpuWeight, cluster.memWeight, cluster.diskWeight);
  const [allocated = 0, inUse = 0] = shares(cluster.allocatedResourceWeight, cluster.inUseResourceWeight);
  return {
    weights: { cpus, memory, disk },
    allocatedWeight: allocated,
    inUseWeight: inUse,
    loadMetric: cluster.scoreUsingSystemLoad,
    omitForMissingUsage: cluster.omitForMissingUsageData,
    omitOverloaded: cluster.omitOverloadedHosts,
    load1OverloadedThreshold: cluster.load1OverloadedThreshold,
    load5OverloadedThreshold: cluster.load5OverloadedThreshold,
    recheckForManyNewTasks: reCheckMetricsForLargeNewTaskCount,
    recheckLoad1Threshold: cluster.recheckMetricsLoad1Threshold,
    recheckLoad5Threshold: cluster.recheckMetricsLoad5Threshold,
  };
}

export const preferenceRules = (settings: Settings): PreferenceRules => ({
  highCpuCutOff: settings.highCpuSlaveCutOff,
  highMemoryCutOff: settings.highMemorySlaveCutOff,
  scaleFactor: settings.preferredSlaveScaleFactor,
});

export const shuffleRules = (settings: Settings): ShuffleRules => ({
  loadMetric: settings.cluster.scoreUsingSystemLoad,
  memoryTarget: settings.shuffleTasksWhenSlaveMemoryUtilizationPercentageExceeds,
  minutesBeforeEligible: settings.minutesBeforeNewTaskEligibleForShuffle,
  maxTasksTotal: settings.maxTasksToShuffleTotal,
  maxTasksPerSlave: settings.maxTasksToShufflePerHost,
});

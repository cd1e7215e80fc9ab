import type { CooldownRules, CrashLoopRules } from '../core/completion/index.js';
import { graceRules, type LaunchRules, type UploadRules } from '../core/launch/index.js';
import { rackCount, spreadRules, type WorkRules } from '../core/pending-work/index.js';
import type { PlacementRules } from '../core/placement/index.js';
import { followsActiveSlaves } from '../core/request-validation/index.js';
import { shares, type PreferenceRules, type ScoringRules } from '../core/usage/index.js';
import { priorityRules } from '../modules/priority/priority-rules.js';
import type { StoredSlave } from '../modules/slaves/slave.repository.js';
import { type LogStore, logStoreOf } from '../platform/settings/log-store-settings.js';
import type { Settings } from '../platform/settings/settings.js';

/* What the settings mean to the decisions. */

export const cooldownRules = ({ crashLoop }: Settings): CooldownRules => ({
  failureThreshold: crashLoop.cooldownFailureThreshold,
  windowMillis: crashLoop.evaluateCooldownOverMinutes * 60_000,
});

export function crashLoopRules(settings: Settings): CrashLoopRules {
  const { crashLoop } = settings;
  return {
    cooldown: cooldownRules(settings),
    startup: {
      failureThreshold: crashLoop.startupFailureThreshold,
      windowMillis: crashLoop.evaluateStartupLoopOverMinutes * 60_000,
    },
    oom: {
      failureThreshold: crashLoop.oomFailureThreshold,
      windowMillis: crashLoop.evaluateOomsOverMinutes * 60_000,
    },
    singleInstance: {
      sizeMillis: crashLoop.singleInstanceFailureBucketSizeMinutes * 60_000,
      buckets: crashLoop.singleInstanceFailureBuckets,
      threshold: crashLoop.singleInstanceFailureThreshold,
      minBucketIndexPercent: crashLoop.singleInstanceFailureMinBucketIndexPercent,
    },
    multiInstance: {
      sizeMillis: crashLoop.multiInstanceFailureBucketSizeMinutes * 60_000,
      buckets: crashLoop.multiInstanceFailureBuckets,
      threshold: crashLoop.multiInstanceFailureThreshold,
      minBucketIndexPercent: crashLoop.multiInstanceFailureMinBucketIndexPercent,
    },
    slow: {
      sizeMillis: crashLoop.slowFailureBucketSizeMinutes * 60_000,
      buckets: crashLoop.slowFailureBuckets,
      threshold: crashLoop.slowFailureThreshold,
      minBucketIndexPercent: crashLoop.slowFailureMinBucketIndexPercent,
    },
  };
}

export const workRules = (settings: Settings, slaves: readonly StoredSlave[]): WorkRules => ({
  cooldownMinScheduleMillis: settings.cooldownMinScheduleSeconds * 1_000,
  ...spreadRules(settings, slaves),
  onePerSlave: (request) => followsActiveSlaves(request, settings),
});

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

const preferenceRules = (settings: Settings): PreferenceRules => ({
  highCpuCutOff: settings.highCpuSlaveCutOff,
  highMemoryCutOff: settings.highMemorySlaveCutOff,
  scaleFactor: settings.preferredSlaveScaleFactor,
});

export const placementRules = (settings: Settings, slaves: readonly StoredSlave[]): PlacementRules => ({
  defaultResources: {
    cpus: settings.cluster.defaultCpus,
    memoryMb: settings.cluster.defaultMemory,
    diskMb: settings.cluster.defaultDisk,
  },
  executorResources: { cpus: 0, memoryMb: 0, diskMb: 0 },
  defaultPlacement: settings.defaultSlavePlacement,
  allowBounceToSameHost: settings.allowBounceToSameHost,
  placementLeniency: settings.placementLeniency,
  rackCount: rackCount(settings, slaves),
  scoring: scoringRules(settings),
  preference: preferenceRules(settings),
  reservedAttributes: settings.reserveSlavesWithAttributes,
  preemptibleOnlyAttributes: settings.preemptibleTasksOnlyMachineAttributes,
  preemptibleMaxRuntimeMillis: settings.preemptibleTaskMaxExpectedRuntimeMs,
  maxTasksPerMachine: settings.cluster.maxTasksPerOffer,
  maxActiveOnDemandTasks: settings.maxActiveOnDemandTasksPerRequest,
  ...priorityRules(settings),
});

export const launchRules = (settings: Settings): LaunchRules => ({
  ...graceRules(settings),
  cpuHardLimit: settings.cpuHardLimit,
  cpuHardLimitScaleFactor: settings.cpuHardLimitScaleFactor,
  honorRunningSentinel: settings.cluster.local.honorRunningSentinel,
  uploads: uploadRules(logStoreOf(settings)),
  defaultPortMapping: settings.network.defaultPortMapping,
});

const uploadRules = (store: LogStore | undefined): UploadRules | undefined =>
  store && {
    files: store.objstoreUploaderAdditionalFiles,
    bucket: store.objstoreBucket,
    allowedBuckets: store.allowedUploaderBuckets,
    groupBuckets: Object.fromEntries(
      Object.entries(store.groupOverrides).map(([group, { objstoreBucket }]) => [group, objstoreBucket]),
    ),
    keyPattern: store.objstoreKeyFormat,
    storageClass: store.objstoreStorageClass,
    applyStorageClassAfterBytes: store.applyObjstoreStorageClassAfterBytes,
  };

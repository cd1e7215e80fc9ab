import type { CooldownRules } from '../core/cooldown/index.js';
import type { LaunchRules } from '../core/launch/index.js';
import type { WorkRules } from '../core/pending-work/index.js';
import type { PlacementRules } from '../core/placement/index.js';
import { priorityRules } from '../modules/priority/priority-rules.js';
import type { StoredSlave } from '../modules/slaves/machines.service.js';
import type { Settings } from '../platform/settings/settings.js';

/* What the settings mean to the decisions. */

export const cooldownRules = ({ crashLoop }: Settings): CooldownRules => ({
  failureThreshold: crashLoop.cooldownFailureThreshold,
  windowMillis: crashLoop.evaluateCooldownOverMinutes * 60_000,
});

export function workRules(settings: Settings, slaves: readonly StoredSlave[]): WorkRules {
  const attributes = new Map(slaves.map((slave) => [slave.id, slave.attributes]));
  return {
    cooldownMinScheduleMillis: settings.cooldownMinScheduleSeconds * 1_000,
    rebalanceRacksOnScaleDown: settings.rebalanceRacksOnScaleDown,
    rackCount: rackCount(settings, slaves),
    attributesOf: (slaveId) => attributes.get(slaveId) ?? {},
  };
}

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
  reservedAttributes: settings.reserveSlavesWithAttributes,
  preemptibleOnlyAttributes: settings.preemptibleTasksOnlyMachineAttributes,
  preemptibleMaxRuntimeMillis: settings.preemptibleTaskMaxExpectedRuntimeMs,
  maxTasksPerMachine: settings.cluster.maxTasksPerOffer,
  maxActiveOnDemandTasks: settings.maxActiveOnDemandTasksPerRequest,
  ...priorityRules(settings),
});

export const launchRules = (settings: Settings): LaunchRules => ({
  killGraceMillis: settings.hardKillAfterMillis,
  cpuHardLimit: settings.cpuHardLimit,
  cpuHardLimitScaleFactor: settings.cpuHardLimitScaleFactor,
});

/** The expected number, else that of the ACTIVE racks. */
function rackCount(settings: Settings, slaves: readonly StoredSlave[]): number {
  const active = slaves.filter((slave) => slave.rackState === 'ACTIVE').map((slave) => slave.rackId);
  return settings.expectedRacksCount ?? new Set(active).size;
}

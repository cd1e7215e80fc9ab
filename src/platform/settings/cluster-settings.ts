import { z } from 'zod';
import { loadMetrics, slavePlacements } from '../../core/model/enums.js';
import { amount, amountAbove0, count, hoursAbove0, millis, minutes, seconds } from './bounds.js';
import { KubernetesSettings } from './kubernetes-settings.js';
import { LocalSettings } from './local-settings.js';

/** Settings of the cluster: limits on what may be asked for, defaults for what was not said, and the driver's own. */
export const ClusterSettings = z.strictObject({
  defaultCpus: amountAbove0().default(1).describe('Cores of a task whose deploy names no resources'),
  defaultMemory: amountAbove0().default(64).describe('Memory in MB of a task whose deploy names no resources'),
  defaultDisk: amount().default(0).describe('Disk in MB of a task whose deploy names no resources'),
  maxNumInstancesPerRequest: count().default(25).describe('Most instances of one request'),
  maxNumCpusPerInstance: amount().default(50).describe('Most cores of one task'),
  maxMemoryMbPerInstance: amount().default(24_000).describe('Most memory in MB of one task'),
  maxDiskMbPerInstance: amount().default(60_000).describe('Most disk in MB of one task'),
  maxNumCpusPerRequest: amount().default(900).describe('Most cores of all instances of a request together'),
  maxMemoryMbPerRequest: amount().default(450_000).describe('Most memory in MB of all instances of a request together'),
  maxDiskMbPerRequest: amount().default(3_000_000).describe('Most disk in MB of all instances of a request together'),
  rackIdAttributeKey: z.string().default('rackid').describe('Attribute of a machine that names its rack'),
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines without that attribute'),
  agentReregisterTimeoutSeconds: seconds()
    .default(600)
    .describe(
      'Time after which the tasks of a missing machine or of a silent agent are given up; they can come back for one and a half times as long',
    ),
  maxTasksPerOffer: count().default(0).describe('Most tasks placed on one machine in one round; 0: any number'),
  cpuWeight: amount().default(0.4).describe('Weight of cpu in the score of a machine; only ratios count'),
  memWeight: amount().default(0.4).describe('Weight of memory in the score of a machine'),
  diskWeight: amount().default(0.2).describe('Weight of disk in the score of a machine'),
  allocatedResourceWeight: amount()
    .default(0.5)
    .describe('Weight of the resources promised to tasks; only its ratio to inUseResourceWeight counts'),
  inUseResourceWeight: amount().default(0.5).describe('Weight of the resources in use on a machine'),
  goodEnoughScoreThreshold: amount()
    .default(0.4)
    .describe('Accepted and without effect: Muster finds the best machine without a search of all'),
  scoreUsingSystemLoad: z
    .enum(loadMetrics)
    .default('LOAD_5')
    .describe('Load for scores and shuffling: average of 1, 5 or 15 minutes'),
  omitForMissingUsageData: z
    .boolean()
    .default(false)
    .describe('Place no tasks on a machine without usage data; otherwise it scores 0.5'),
  omitOverloadedHosts: z
    .boolean()
    .default(false)
    .describe('Place no tasks on a machine whose load would exceed a threshold'),
  load1OverloadedThreshold: amount().default(1.5).describe('Threshold of the 1-minute load per core'),
  load5OverloadedThreshold: amount().default(1).describe('Threshold of the 5-minute load per core'),
  recheckMetricsLoad1Threshold: amount()
    .default(0.8)
    .describe('reCheckMetricsForLargeNewTaskCount: highest 1-minute load per core'),
  recheckMetricsLoad5Threshold: amount()
    .default(0.75)
    .describe('reCheckMetricsForLargeNewTaskCount: highest 5-minute load per core'),
  local: LocalSettings.prefault({}),
  kubernetes: KubernetesSettings.prefault({}),
});

/** Placement of tasks, unless their requests say otherwise. */
export const placementSettings = {
  defaultSlavePlacement: z.enum(slavePlacements).default('GREEDY').describe('Placement of requests that name none'),
  reserveSlavesWithAttributes: z
    .record(z.string(), z.array(z.string()))
    .default({})
    .describe('Attribute values whose machines accept only tasks that require or allow them'),
  preemptibleTasksOnlyMachineAttributes: z
    .record(z.string(), z.string())
    .default({})
    .describe('Machines with all of these attributes accept only long-running tasks and short runs'),
  preemptibleTaskMaxExpectedRuntimeMs: millis().default(900_000).describe('Longest average run time of short runs'),
  preferredSlaveScaleFactor: amount().default(1.5).describe('Factor of the score of a preferred machine of a task'),
  highCpuSlaveCutOff: amount()
    .default(1.5)
    .describe('Cores per GB above which a request or machine counts as cpu-heavy'),
  highMemorySlaveCutOff: amount()
    .default(0.5)
    .describe('Cores per GB below which a request or machine counts as memory-heavy'),
  reCheckMetricsForLargeNewTaskCount: z
    .boolean()
    .default(false)
    .describe('Ask a machine for its load if many tasks have started there since its last sample'),
  placementLeniency: amount().default(0.09).describe('OPTIMISTIC placement: tolerance per pending task'),
  expectedRacksCount: count().optional().describe('Number of racks to spread over; default: the active ones'),
  rebalanceRacksOnScaleDown: z.boolean().default(false).describe('Balance the racks when a request scales down'),
  maxScaleDownWithoutAcknowledgement: count()
    .default(10)
    .describe('Largest scale-down without largeScaleDownAcknowledged=true'),
};

/** Settings for the records of machines. */
export const machineSettings = {
  maxDecommissioningSlaves: count().default(2).describe('Slaves that may be decommissioned at once'),
  maxMachineHistoryEntries: count().default(10).describe('Newest states kept per machine'),
  reconcileSlavesEveryMinutes: minutes()
    .default(60)
    .describe(
      'Time between two comparisons of stored slaves with the list of the cluster (poller `slave-reconciliation`)',
    ),
  deleteDeadSlavesAfterHours: hoursAbove0()
    .default(168)
    .describe('Time for which the record of a DEAD or MISSING_ON_STARTUP slave is kept'),
  cleanInactiveHostListEveryHours: hoursAbove0().default(24).describe('Time for which a host stays marked inactive'),
  commonHostnameSuffixToOmit: z.string().optional().describe('Suffix of host names that is not shown'),
  spreadAllSlavesEnabled: z
    .boolean()
    .default(false)
    .describe('Accept requests with placement SPREAD_ALL_SLAVES, which follow the number of active slaves'),
  checkAutoSpreadAllSlavesEverySeconds: seconds()
    .default(30)
    .describe('Time between two adjustments of their instances (poller `spread-all`)'),
};

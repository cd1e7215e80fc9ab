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
  defaultRackId: z.string().default('DEFAULT').describe('Rack of machines that name none'),
  agentReregisterTimeoutSeconds: seconds()
    .default(600)
    .describe(
      'How long a machine that vanished, or an agent that does not answer, may take to come back before its tasks are given up; they stay live for one and a half times as long',
    ),
  maxTasksPerOffer: count().default(0).describe('Most tasks placed on one machine in one round; 0: any number'),
  cpuWeight: amount().default(0.4).describe('Weight of cpu in the score of a machine; only ratios count'),
  memWeight: amount().default(0.4).describe('Weight of memory in the score of a machine'),
  diskWeight: amount().default(0.2).describe('Weight of disk in the score of a machine'),
  allocatedResourceWeight: amount()
    .default(0.5)
    .describe('Weight of what a machine has promised to tasks; only its ratio to inUseResourceWeight counts'),
  inUseResourceWeight: amount().default(0.5).describe('Weight of what is really in use on a machine'),
  goodEnoughScoreThreshold: amount()
    .default(0.4)
    .describe('Accepted and without effect: the best machine is found without looking at all of them'),
  scoreUsingSystemLoad: z
    .enum(loadMetrics)
    .default('LOAD_5')
    .describe('Load by which machines are scored and shuffled: average of 1, 5 or 15 minutes'),
  omitForMissingUsageData: z
    .boolean()
    .default(false)
    .describe('Whether a machine without usage gets no tasks; otherwise it scores 0.5'),
  omitOverloadedHosts: z
    .boolean()
    .default(false)
    .describe('Whether a machine whose load would pass a threshold gets no tasks'),
  load1OverloadedThreshold: amount().default(1.5).describe('Highest 1-minute load per core for that'),
  load5OverloadedThreshold: amount().default(1).describe('Highest 5-minute load per core for that'),
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
    .describe('Attribute values whose machines only take tasks that require or allow them'),
  preemptibleTasksOnlyMachineAttributes: z
    .record(z.string(), z.string())
    .default({})
    .describe('Machines with all of these attributes only take long-running tasks and short runs'),
  preemptibleTaskMaxExpectedRuntimeMs: millis()
    .default(900_000)
    .describe('Longest average of runs that count as short'),
  preferredSlaveScaleFactor: amount()
    .default(1.5)
    .describe('Factor on the score of a machine that suits a task better than others'),
  highCpuSlaveCutOff: amount().default(1.5).describe('Cores per GB above which something leans to cpu'),
  highMemorySlaveCutOff: amount().default(0.5).describe('Cores per GB below which something leans to memory'),
  reCheckMetricsForLargeNewTaskCount: z
    .boolean()
    .default(false)
    .describe('Whether a machine is asked for its load when many tasks have started there since its last sample'),
  placementLeniency: amount().default(0.09).describe('OPTIMISTIC placement: tolerance per pending task'),
  expectedRacksCount: count().optional().describe('Number of racks to spread over; default: the active ones'),
  rebalanceRacksOnScaleDown: z.boolean().default(false).describe('Whether scaling down evens out the racks'),
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
      'Time between two comparisons of our slaves with those that the cluster lists (poller `slave-reconciliation`)',
    ),
  deleteDeadSlavesAfterHours: hoursAbove0()
    .default(168)
    .describe('How long the record of a slave is kept that is DEAD or MISSING_ON_STARTUP'),
  cleanInactiveHostListEveryHours: hoursAbove0().default(24).describe('How long a host stays marked inactive'),
  commonHostnameSuffixToOmit: z.string().optional().describe('End of host names that slaves are shown without'),
  spreadAllSlavesEnabled: z
    .boolean()
    .default(false)
    .describe('Whether requests with placement SPREAD_ALL_SLAVES are accepted and follow the number of active slaves'),
  checkAutoSpreadAllSlavesEverySeconds: seconds()
    .default(30)
    .describe('Time between two adjustments of their instances (poller `spread-all`)'),
};

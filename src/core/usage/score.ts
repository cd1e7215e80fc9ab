import type { LoadMetric } from '../model/enums.js';
import type { RequestUtilization, SlaveUsage } from '../model/usage.js';
import { type Amounts, averageOf, bytesPerMb, estimatedCpu } from './amounts.js';

/** Settings for the scores of machines. Weights are shares: they sum up to 1. */
export interface ScoringRules {
  weights: { cpus: number; memory: number; disk: number };
  /** Weight of the resources promised to tasks, against those really in use. */
  allocatedWeight: number;
  inUseWeight: number;
  loadMetric: LoadMetric;
  omitForMissingUsage: boolean;
  omitOverloaded: boolean;
  load1OverloadedThreshold: number;
  load5OverloadedThreshold: number;
  recheckForManyNewTasks: boolean;
  recheckLoad1Threshold: number;
  recheckLoad5Threshold: number;
}

/** A machine as its score sees it; a machine of a round is one, so that scoring thousands of them makes no garbage. */
export interface MachineLoad {
  readonly usage: SlaveUsage | undefined;
  /** Resources that this round has placed there (`largestUsage` of each task). */
  readonly added: Readonly<Amounts>;
  /** Probable use of the active tasks there (`probableUsage` of each task). */
  readonly probable: Readonly<Amounts>;
}

const scoreWithoutUsage = 0.5;

/** Score of the machine: 1 when nothing is promised or used, 0 when everything is. 0 is no match. */
export function scoreMachine({ usage, added, probable }: MachineLoad, rules: ScoringRules): number {
  if (usage === undefined || !hasTotals(usage)) return rules.omitForMissingUsage ? 0 : scoreWithoutUsage;
  const { weights, allocatedWeight, inUseWeight } = rules;
  const addedMemoryMb = added.memoryBytes / bytesPerMb;
  const addedDiskMb = added.diskBytes / bytesPerMb;
  const usedMemory = Math.max(usage.systemMemTotalBytes - usage.systemMemFreeBytes, probable.memoryBytes);
  const usedDiskMb = Math.max(usage.slaveDiskUsed, probable.diskBytes / bytesPerMb);
  const usedCpus = Math.max(loadOf(usage, rules.loadMetric), probable.cpus);
  return (
    weights.cpus *
      (allocatedWeight * unused(usage.cpusReserved + added.cpus, usage.cpusTotal) +
        inUseWeight * unused(usedCpus + added.cpus, usage.systemCpusTotal)) +
    weights.memory *
      (allocatedWeight * unused(usage.memoryMbReserved + addedMemoryMb, usage.memoryMbTotal) +
        inUseWeight * unused(usedMemory + added.memoryBytes, usage.systemMemTotalBytes)) +
    weights.disk *
      (allocatedWeight * unused(usage.diskMbReserved + addedDiskMb, usage.diskMbTotal) +
        inUseWeight * unused(usedDiskMb + addedDiskMb, usage.slaveDiskTotal))
  );
}

/** Load per core: tasks that want or need processor time, averaged over 1, 5 or 15 minutes. */
export function loadOf(usage: SlaveUsage, metric: LoadMetric): number {
  if (metric === 'LOAD_1') return usage.systemLoad1Min;
  return metric === 'LOAD_5' ? usage.systemLoad5Min : usage.systemLoad15Min;
}

/**
 * True when the machine would be too busy with a task that will probably use `newCpus` cores. Unknown is not too busy.
 */
export function isOverloaded(
  usage: SlaveUsage | undefined,
  addedCpus: number,
  newCpus: number,
  rules: ScoringRules,
): boolean {
  if (!rules.omitOverloaded || usage === undefined || usage.systemCpusTotal <= 0) return false;
  const more = addedCpus + newCpus;
  return (
    (usage.systemLoad5Min + more) / usage.systemCpusTotal > rules.load5OverloadedThreshold ||
    (usage.systemLoad1Min + more) / usage.systemCpusTotal > rules.load1OverloadedThreshold
  );
}

/** So many tasks have started since the sample that it tells little: the load has to be asked for again. */
export const needsRecheck = (usage: SlaveUsage, startedSince: number, rules: ScoringRules): boolean =>
  rules.recheckForManyNewTasks && startedSince > 0 && startedSince >= Math.floor(usage.numTasks / 2);

/** True when the second check of a load fails: the machine then counts as having no usage. */
export function failsRecheck(
  live: { cpus: number; load1: number; load5: number },
  { recheckLoad1Threshold, recheckLoad5Threshold }: ScoringRules,
): boolean {
  return live.load5 > recheckLoad5Threshold * live.cpus || live.load1 > recheckLoad1Threshold * live.cpus;
}

/** Shares of a whole. All zero: every one the same. */
export function shares(...weights: number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => (sum > 0 ? weight / sum : 1 / weights.length));
}

const hasTotals = (usage: SlaveUsage): boolean =>
  usage.cpusTotal !== undefined &&
  usage.memoryMbTotal !== undefined &&
  usage.diskMbTotal !== undefined &&
  usage.systemCpusTotal > 0 &&
  usage.systemMemTotalBytes > 0;

/** Share that is left, 0 to 1: use may pass what there is. Of nothing, nothing is left. */
function unused(used: number, total: number | undefined): number {
  return total !== undefined && total > 0 ? Math.min(1, Math.max(0, 1 - used / total)) : 0;
}

/** The resource of which there is much, in relation to the other. */
export type ResourceBias = 'HIGH_CPU' | 'HIGH_MEMORY' | 'AVERAGE';

export interface PreferenceRules {
  /** Cores per GB of memory above which something leans to cpu. */
  highCpuCutOff: number;
  /** Cores per GB of memory below which something leans to memory. */
  highMemoryCutOff: number;
  /** The score of a preferred machine is multiplied with it. */
  scaleFactor: number;
}

const mbPerGb = 1_024;
const bytesPerGb = 1_073_741_824;

export function bias(cpus: number, memoryGb: number, rules: PreferenceRules): ResourceBias {
  const ratio = cpus / memoryGb;
  if (ratio > rules.highCpuCutOff) return 'HIGH_CPU';
  return ratio < rules.highMemoryCutOff ? 'HIGH_MEMORY' : 'AVERAGE';
}

/** Once per request and round, not once per machine. undefined: there are no figures. */
export function biasOfRequest(
  utilization: RequestUtilization | undefined,
  rules: PreferenceRules,
): ResourceBias | undefined {
  if (!utilization) return undefined;
  const memoryBytes = averageOf(utilization, utilization.memBytesUsed);
  return bias(estimatedCpu(utilization), memoryBytes / bytesPerGb, rules);
}

/**
 * True when a machine suits a task better than others: it has what the task allows, or plenty of what its request uses.
 */
export function isPreferred(
  task: { readonly allowed: Readonly<Record<string, string>>; readonly bias: ResourceBias | undefined },
  machine: { readonly attributes: Readonly<Record<string, string>>; freeCpus: number; freeMemoryMb: number },
  rules: PreferenceRules,
): boolean {
  for (const name in task.allowed) if (machine.attributes[name] === task.allowed[name]) return true;
  return task.bias !== undefined && task.bias === bias(machine.freeCpus, machine.freeMemoryMb / mbPerGb, rules);
}

import type { RequestUtilization } from '../model/usage.js';
import { averageOf, estimatedCpu } from './amounts.js';

/** Which of the two there is much of, in relation to the other. */
export type Leaning = 'HIGH_CPU' | 'HIGH_MEMORY' | 'AVERAGE';

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

export function leaning(cpus: number, memoryGb: number, rules: PreferenceRules): Leaning {
  const ratio = cpus / memoryGb;
  if (ratio > rules.highCpuCutOff) return 'HIGH_CPU';
  return ratio < rules.highMemoryCutOff ? 'HIGH_MEMORY' : 'AVERAGE';
}

/** Once per request and round, not once per machine. undefined: there are no figures. */
export function leaningOfRequest(
  utilization: RequestUtilization | undefined,
  rules: PreferenceRules,
): Leaning | undefined {
  if (!utilization) return undefined;
  const memoryBytes = averageOf(utilization, utilization.memBytesUsed);
  return leaning(estimatedCpu(utilization), memoryBytes / bytesPerGb, rules);
}

/** Whether a machine suits a task better than others: it has what the task allows, or plenty of what its request uses. */
export function isPreferred(
  task: { readonly allowed: Readonly<Record<string, string>>; readonly leaning: Leaning | undefined },
  machine: { readonly attributes: Readonly<Record<string, string>>; freeCpus: number; freeMemoryMb: number },
  rules: PreferenceRules,
): boolean {
  for (const name in task.allowed) if (machine.attributes[name] === task.allowed[name]) return true;
  return (
    task.leaning !== undefined && task.leaning === leaning(machine.freeCpus, machine.freeMemoryMb / mbPerGb, rules)
  );
}

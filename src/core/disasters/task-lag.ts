import type { DisasterDataPoint } from '../model/disaster.js';

export interface LagRules {
  check: boolean;
  /** Shares of late tasks among all active and pending ones. */
  warningPortion: number;
  criticalPortion: number;
  /** Averages over all overdue tasks. */
  warningAverageMillis: number;
  criticalAverageMillis: number;
  /** How long it has to have lasted. */
  triggerAfterMillis: number;
}

/** What is wrong at one moment. */
interface Flags {
  warningPortion: boolean;
  criticalPortion: boolean;
  warningAverage: boolean;
  criticalAverage: boolean;
}
const flagNames = ['warningPortion', 'criticalPortion', 'warningAverage', 'criticalAverage'] as const;

/** Tasks have been starting far too late for a while. */
export function hasExcessiveLag(points: readonly DisasterDataPoint[], rules: LagRules, now: number): boolean {
  if (!rules.check) return false;
  const since = flaggedSince(points, rules);
  const lasts = (flag: keyof Flags): boolean => {
    const began = since[flag];
    return began !== undefined && now - began > rules.triggerAfterMillis;
  };
  return lasts('criticalPortion') || lasts('criticalAverage') || (lasts('warningPortion') && lasts('warningAverage'));
}

/** When each flag was first seen in the stretch without a flawless moment that lasts until now. */
function flaggedSince(points: readonly DisasterDataPoint[], rules: LagRules): Partial<Record<keyof Flags, number>> {
  const since: Partial<Record<keyof Flags, number>> = {};
  for (const point of points) {
    const flags = flagsOf(point, rules);
    const raised = flagNames.filter((flag) => flags[flag]);
    if (raised.length === 0) break;
    for (const flag of raised) since[flag] = point.timestamp;
  }
  return since;
}

function flagsOf(point: DisasterDataPoint, rules: LagRules): Flags {
  const portion = point.numLateTasks / Math.max(point.numActiveTasks + point.numPendingTasks, 1);
  const warningPortion = portion > rules.warningPortion;
  return {
    warningPortion,
    criticalPortion: portion > rules.criticalPortion,
    warningAverage: point.avgTaskLagMillis > rules.warningAverageMillis,
    // A few tasks that can never start (too large for any machine) make a large average, not a disaster.
    criticalAverage: warningPortion && point.avgTaskLagMillis > rules.criticalAverageMillis,
  };
}

import { aheadMillis } from '../elapsed.js';
import type { DisableRules } from './actions.js';
import { type ActionType, type DisasterType, disasterTypes } from '../model/enums.js';
import type { DisasterDataPoint } from '../model/state.js';

/** Losses of a span of time, as a share of what there is. */
interface LossRules {
  check: boolean;
  /** Above this share it is a disaster. */
  criticalPortion: number;
  withinMillis: number;
}

export interface DetectionRules {
  lag: LagRules;
  lostSlaves: LossRules;
  lostTasks: LossRules;
}

/** An operator's settings for the detection of disasters and their consequences. */
interface DisasterSettings {
  disasterDetection: {
    checkLateTasks: boolean;
    fewestLateTasks: number;
    warningOverdueTaskPortion: number;
    criticalOverdueTaskPortion: number;
    warningAvgTaskLagMillis: number;
    criticalAvgTaskLagMillis: number;
    triggerAfterMillisOverTaskLagThreshold: number;
    checkLostSlaves: boolean;
    criticalLostSlavePortion: number;
    includeLostSlavesInLastMillis: number;
    checkLostTasks: boolean;
    criticalLostTaskPortion: number;
    includeLostTasksInLastMillis: number;
    disableActionsOnDisaster: readonly ActionType[];
    defaultDisabledActionExpiration: number;
  };
}

export const detectionRules = ({ disasterDetection: settings }: DisasterSettings): DetectionRules => ({
  lag: {
    check: settings.checkLateTasks,
    fewest: settings.fewestLateTasks,
    warningPortion: settings.warningOverdueTaskPortion,
    criticalPortion: settings.criticalOverdueTaskPortion,
    warningAverageMillis: settings.warningAvgTaskLagMillis,
    criticalAverageMillis: settings.criticalAvgTaskLagMillis,
    triggerAfterMillis: settings.triggerAfterMillisOverTaskLagThreshold,
  },
  lostSlaves: {
    check: settings.checkLostSlaves,
    criticalPortion: settings.criticalLostSlavePortion,
    withinMillis: settings.includeLostSlavesInLastMillis,
  },
  lostTasks: {
    check: settings.checkLostTasks,
    criticalPortion: settings.criticalLostTaskPortion,
    withinMillis: settings.includeLostTasksInLastMillis,
  },
});

export const disableRules = ({ disasterDetection: settings }: DisasterSettings): DisableRules => ({
  actions: settings.disableActionsOnDisaster,
  expirationMillis: settings.defaultDisabledActionExpiration,
});

/**
 * The disasters that these data points (newest first) show at `now`, and of those in force the one that only a user may
 * end. In the order of their types.
 */
export function judgeDisasters(
  taken: readonly DisasterDataPoint[],
  inForce: readonly DisasterType[],
  rules: DetectionRules,
  now: number,
): DisasterType[] {
  // Others are of a clock that has been set back since.
  const points = taken.filter(({ timestamp }) => timestamp - now <= aheadMillis);
  const isActive: Record<DisasterType, boolean> = {
    EXCESSIVE_TASK_LAG: hasExcessiveLag(points, rules.lag, now),
    LOST_SLAVES: lostTooMany(
      points,
      rules.lostSlaves,
      now,
      (point) => point.numLostSlaves,
      (newest) => newest.numActiveSlaves + newest.numLostSlaves,
    ),
    LOST_TASKS: lostTooMany(
      points,
      rules.lostTasks,
      now,
      (point) => point.numLostTasks,
      (newest) => newest.numActiveTasks,
    ),
    // What an operator declared is not for a measurement to take back.
    USER_INITIATED: inForce.includes('USER_INITIATED'),
  };
  return disasterTypes.filter((type) => isActive[type]);
}

function lostTooMany(
  points: readonly DisasterDataPoint[],
  rules: LossRules,
  now: number,
  lost: (point: DisasterDataPoint) => number,
  outOf: (newest: DisasterDataPoint) => number,
): boolean {
  const [newest] = points;
  if (!rules.check || !newest) return false;
  const recent = points.filter(({ timestamp }) => now - timestamp < rules.withinMillis);
  const total = recent.reduce((sum, point) => sum + lost(point), 0);
  return total / Math.max(outOf(newest), 1) > rules.criticalPortion;
}

interface LagRules {
  check: boolean;
  /** A share of fewer late tasks proves nothing: on a small cluster one task that waits for room is a large share. */
  fewest: number;
  /** Shares of late tasks among all active and pending ones. */
  warningPortion: number;
  criticalPortion: number;
  /** Averages over all overdue tasks. */
  warningAverageMillis: number;
  criticalAverageMillis: number;
  /** Time that it must have lasted. */
  triggerAfterMillis: number;
}

/** Problems at one moment. */
interface Flags {
  warningPortion: boolean;
  criticalPortion: boolean;
  warningAverage: boolean;
  criticalAverage: boolean;
}
const flagNames = ['warningPortion', 'criticalPortion', 'warningAverage', 'criticalAverage'] as const;

/** Tasks have been starting far too late for a while. */
function hasExcessiveLag(points: readonly DisasterDataPoint[], rules: LagRules, now: number): boolean {
  if (!rules.check) return false;
  const since = flaggedSince(points, rules);
  const lasts = (flag: keyof Flags): boolean => {
    const began = since[flag];
    return began !== undefined && now - began > rules.triggerAfterMillis;
  };
  return lasts('criticalPortion') || lasts('criticalAverage') || (lasts('warningPortion') && lasts('warningAverage'));
}

/** First time of each flag in the stretch without a flawless moment that lasts until now. */
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
  const counted = point.numLateTasks < rules.fewest ? 0 : point.numLateTasks;
  const portion = counted / Math.max(point.numActiveTasks + point.numPendingTasks, 1);
  const warningPortion = portion > rules.warningPortion;
  return {
    warningPortion,
    criticalPortion: portion > rules.criticalPortion,
    warningAverage: point.avgTaskLagMillis > rules.warningAverageMillis,
    // A few tasks that can never start (too large for any machine) make a large average, not a disaster.
    criticalAverage: warningPortion && point.avgTaskLagMillis > rules.criticalAverageMillis,
  };
}

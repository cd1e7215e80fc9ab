import type { DisasterDataPoint } from '../model/disaster.js';
import { disasterTypes, type DisasterType } from '../model/enums.js';
import { hasExcessiveLag, type LagRules } from './task-lag.js';

/** Losses of a span of time, as a share of what there is. */
export interface LossRules {
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

/**
 * The disasters that these data points (newest first) show at `now`, and of those in force the one that only a user may
 * end. In the order of their types.
 */
export function judgeDisasters(
  points: readonly DisasterDataPoint[],
  inForce: readonly DisasterType[],
  rules: DetectionRules,
  now: number,
): DisasterType[] {
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

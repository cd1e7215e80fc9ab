import type { ClusterTaskStatisticsObject } from 'muster-client';

/** Cores in use between two looks: seconds of the processor by seconds of the clock. */
export function coresBetween(
  before: ClusterTaskStatisticsObject | undefined,
  now: ClusterTaskStatisticsObject,
): number | undefined {
  if (before?.timestamp === undefined || now.timestamp === undefined || now.timestamp <= before.timestamp)
    return undefined;
  const seconds = (of: ClusterTaskStatisticsObject) => (of.cpusUserTimeSecs ?? 0) + (of.cpusSystemTimeSecs ?? 0);
  return Math.max(0, (seconds(now) - seconds(before)) / (now.timestamp - before.timestamp));
}

import type { Demand } from './demand.js';
import type { PlacementRules } from './snapshot.js';

/** Would one more task of this deploy make the racks uneven? */
export function rackIsSaturated({ deploy, spread, instances }: Demand, rackId: string, rules: PlacementRules): boolean {
  const counts = spread.rackCounts(deploy.id);
  const here = counts.get(rackId) ?? 0;
  const racks = Math.max(rules.rackCount, 1);
  const perRack = instances / racks;
  if (counts.size < racks) return here >= Math.max(perRack, 1);
  const fewest = Math.min(...counts.values());
  return fewest < Math.floor(perRack) ? here >= Math.floor(perRack) : here >= perRack;
}

/** Has this slave got its share of the request's tasks, by the request's placement strategy? */
export function slaveIsSaturated(task: Demand, slaveId: string, rules: PlacementRules): boolean {
  switch (task.strategy) {
    case 'GREEDY':
      return false;
    case 'SEPARATE_BY_REQUEST':
      return task.spread.on(slaveId).length > 0;
    case 'OPTIMISTIC':
      return isAboveAverage(task, slaveId, rules.placementLeniency);
    case 'SEPARATE':
    case 'SEPARATE_BY_DEPLOY':
    case 'SPREAD_ALL_SLAVES':
      return isTakenByDeploy(task, slaveId);
  }
}

function isTakenByDeploy({ bounce, deploy, spread }: Demand, slaveId: string): boolean {
  const sameDeploy = spread.on(slaveId).filter(({ taskId }) => taskId.deployId === deploy.id);
  if (!bounce?.toSameHost || bounce.actionId === undefined) return sameDeploy.length > 0;
  // A replacement may stand beside the task it replaces, not beside another replacement.
  return sameDeploy.some((task) => task.pendingType === 'BOUNCE' && task.actionId === bounce.actionId);
}

function isAboveAverage({ deploy, spread }: Demand, slaveId: string, leniency: number): boolean {
  if (spread.active === 0) return false;
  const here = spread.on(slaveId).filter(({ taskId, cleaning }) => taskId.deployId === deploy.id && !cleaning).length;
  return here > (spread.active / spread.slaves.size) * (1 + spread.pending * leniency);
}

import type { FieldError } from '../field-error.js';
import { isLongRunning, type SlavePlacement } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';

interface PlacementDefaults {
  defaultSlavePlacement: SlavePlacement;
  allowBounceToSameHost: boolean;
}

/** Strategies that may put two tasks of a request on one machine need no number of machines. */
const mayShare = (placement: SlavePlacement): boolean => placement === 'GREEDY' || placement === 'OPTIMISTIC';

const placementOf = (request: Request, defaults: PlacementDefaults): SlavePlacement =>
  request.slavePlacement ?? defaults.defaultSlavePlacement;

/** True when the number of machines limits a request: one task per machine always fits on the existing machines. */
export function needsMachineEach(request: Request, defaults: PlacementDefaults): boolean {
  const placement = placementOf(request, defaults);
  return !mayShare(placement) && placement !== 'SPREAD_ALL_SLAVES';
}

/**
 * A request whose tasks are kept apart needs a machine per task. `previous`: tasks that stay up beside the new ones, which
 * count under SEPARATE_BY_REQUEST.
 */
export function capacityProblem(
  request: Request,
  cluster: { activeSlaves: number; previous?: number },
  defaults: PlacementDefaults,
): FieldError | undefined {
  if (!needsMachineEach(request, defaults)) return undefined;
  const placement = placementOf(request, defaults);
  const beside = placement === 'SEPARATE_BY_REQUEST' ? (cluster.previous ?? 0) : 0;
  return notEnough(instancesOf(request) + beside, cluster.activeSlaves, `placement ${placement}`);
}

/** A bounce runs old and new tasks side by side: all of them, or one more at a time when it is incremental. */
export function bounceCapacityProblem(
  request: Request,
  bounce: { incremental: boolean; activeSlaves: number },
  defaults: PlacementDefaults,
): FieldError | undefined {
  const placement = placementOf(request, defaults);
  const toSameHost = request.allowBounceToSameHost ?? defaults.allowBounceToSameHost;
  const keptApart = toSameHost ? placement === 'SEPARATE_BY_REQUEST' : !mayShare(placement);
  if (!keptApart) return undefined;
  const instances = instancesOf(request);
  const needed = bounce.incremental ? instances + 1 : instances * 2;
  return notEnough(needed, bounce.activeSlaves, `a bounce with placement ${placement}`);
}

function notEnough(needed: number, activeSlaves: number, what: string): FieldError | undefined {
  if (activeSlaves >= needed) return undefined;
  const message = `instances: ${what} needs ${needed} active slaves, there are ${activeSlaves}`;
  return { field: 'instances', rule: 'capacity', message };
}

/** Stops a slip of the finger: many tasks gone at once have to be meant. Runs of ON_DEMAND requests come and go anyway. */
export function scaleDownProblem(
  request: Request,
  change: { from: number; to: number; acknowledged: boolean },
  maxWithoutAcknowledgement: number,
): FieldError | undefined {
  const { from, to, acknowledged } = change;
  if (acknowledged || request.requestType === 'ON_DEMAND') return undefined;
  const removed = from - to;
  const large = removed > maxWithoutAcknowledgement || (from > maxWithoutAcknowledgement && removed > from / 2);
  if (!large) return undefined;
  const message = `instances: going from ${from} to ${to} ends ${removed} tasks at once; send largeScaleDownAcknowledged=true if that is meant`;
  return { field: 'instances', rule: 'largeScaleDown', message };
}

interface SpreadSettings {
  defaultSlavePlacement: SlavePlacement;
  spreadAllSlavesEnabled: boolean;
}

/** True if the number of its instances is that of the active slaves, whatever it says. Jobs keep their own. */
export const followsActiveSlaves = (request: Request, settings: SpreadSettings): boolean =>
  settings.spreadAllSlavesEnabled &&
  request.requestType !== undefined &&
  isLongRunning(request.requestType) &&
  (request.slavePlacement ?? settings.defaultSlavePlacement) === 'SPREAD_ALL_SLAVES';

/** One instance per active slave; while there is none, one that waits for it. */
export const onePerSlave = (request: Request, activeSlaves: number): Request => ({
  ...request,
  instances: Math.max(activeSlaves, 1),
});

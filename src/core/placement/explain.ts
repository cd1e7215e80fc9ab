import { isDue, type PendingTask } from '../model/task.js';
import type { RejectionReason } from './checks.js';
import { GroupRoom } from './concurrency-groups.js';
import { demandKey } from './demand.js';
import { ExcludedTimes } from './excluded-times.js';
import { Fleet } from './fleet.js';
import {
  type Candidate,
  causeOf,
  heldBy,
  mostLiveOf,
  holdReasons,
  obsoleteReasons,
  type PlacementRefusal,
  type WaitingOutcome,
  candidateOf,
} from './place-tasks.js';
import type { Closure, Shortage } from './shortages.js';
import { PlacementRound } from './round.js';
import type { PlacementRules, PlacementSnapshot } from './snapshot.js';

/**
 * Reasons why a pending task is not running. NOT_DUE: its time has not come; COOLDOWN: nor has it, since its request
 * cools down after failures; NO_MATCHING_SLAVE: each machine has a reason against it; PLACEABLE: the next round places
 * it. The obsolete ones are removed in the next round.
 */
export const waitingReasons = [
  'NOT_DUE',
  'COOLDOWN',
  ...obsoleteReasons,
  ...holdReasons,
  'NO_MATCHING_SLAVE',
  'PLACEABLE',
] as const;
export type WaitingReason = (typeof waitingReasons)[number];

/** `slaves` machines that cannot take the task for this reason, the first one that holds; with figures where they are too small. */
export interface Rejection extends Partial<Shortage & Closure> {
  reason: RejectionReason;
  slaves: number;
}

export interface Explanation {
  reason: WaitingReason;
  /** Machines that were looked at, and how many of them could take it now. */
  slaves: number;
  fitting: number;
  /** Most frequent first. */
  rejections: Rejection[];
  /** Particulars of the reason, in words. */
  cause?: string;
}

/** Explains why a pending task waits, by the code that places tasks. */
export function explainPending(
  pending: PendingTask,
  snapshot: PlacementSnapshot,
  rules: PlacementRules,
  now: number,
): Explanation {
  const candidate = candidateOf(pending, snapshot);
  if ('why' in candidate) return unseen(candidate.why);
  if (!isDue(pending.pendingTaskId, now)) return unseen(coolsDown(candidate) ? 'COOLDOWN' : 'NOT_DUE');
  const round = new PlacementRound(new Fleet(snapshot.machines, rules), snapshot, rules);
  const room = new GroupRoom(snapshot.groups);
  const spread = round.spreadOf(candidate.view);
  const mostLive = mostLiveOf(candidate.view, spread, snapshot.deploys);
  const among = { spread, mostLive, room, excluded: new ExcludedTimes(now), rules };
  const held = heldBy(candidate, among);
  if (held) return { ...unseen(held), cause: causeOf(held, candidate, among) };
  const { view, request } = candidate;
  const demand = round.demandOf(demandKey(pending), pending, view, request)!;
  const counts = round.allRejections(demand);
  const rejections = byCount({ rejections: counts, shortages: round.shortages(demand) });
  const fitting = snapshot.machines.length - rejections.reduce((sum, { slaves }) => sum + slaves, 0);
  const reason = fitting > 0 ? 'PLACEABLE' : 'NO_MATCHING_SLAVE';
  return { reason, slaves: snapshot.machines.length, fitting, rejections };
}

/** Explains the wait of a task that a round over `slaves` machines left pending. */
export function explainWaiting(outcome: WaitingOutcome, slaves: number): Explanation {
  if (outcome.why !== 'NO_MATCHING_SLAVE') return { ...unseen(outcome.why), cause: outcome.cause };
  return { reason: outcome.why, slaves, fitting: 0, rejections: byCount(outcome) };
}

/** Fits on none of the machines that there are, even were all of them empty: each is too small as a whole. */
export const neverFits = ({ reason, slaves, rejections }: Explanation): boolean =>
  reason === 'NO_MATCHING_SLAVE' &&
  slaves > 0 &&
  rejections.every(({ asked, largest }) => asked !== undefined && largest !== undefined && asked > largest);

/** Most frequent first, then by name. */
const byCount = ({ rejections, shortages }: PlacementRefusal): Rejection[] =>
  [...rejections]
    .map(([reason, slaves]) => ({ reason, slaves, ...shortages.get(reason) }))
    .sort((a, b) => b.slaves - a.slaves || (a.reason < b.reason ? -1 : 1));

/** A reason for which no machine was looked at. */
const unseen = (reason: WaitingReason): Explanation => ({ reason, slaves: 0, fitting: 0, rejections: [] });

const coolsDown = ({ view, pending }: Candidate): boolean =>
  view.state === 'SYSTEM_COOLDOWN' && pending.pendingTaskId.pendingType !== 'NEW_DEPLOY';

const rejectionTexts: Record<RejectionReason, string> = {
  SLAVE_UNKNOWN: 'not known yet',
  SLAVE_INACTIVE: 'dead or missing',
  SLAVE_FROZEN: 'frozen',
  SLAVE_DECOMMISSIONING: 'being decommissioned',
  HOST_INACTIVE: 'on a host that is marked inactive',
  RACK_INACTIVE: 'in a dead rack',
  RACK_FROZEN: 'in a frozen rack',
  RACK_DECOMMISSIONING: 'in a rack that is being decommissioned',
  RACK_AFFINITY_NOT_MATCHING: 'in another rack than wanted',
  SLAVE_ATTRIBUTES_DO_NOT_MATCH: 'without the right attributes',
  SLAVE_ATTRIBUTE_MINIMUMS: 'needed by others for an attribute minimum',
  SLAVE_RETURNING: 'back, and not asked yet what they run',
  SLAVE_CLOSED: 'closed to new tasks by their cluster',
  SLAVE_DISK_FULL: 'almost out of disk space',
  SLAVE_WITHOUT_CONTAINERS: 'without a container engine',
  NOT_ENOUGH_CPUS: 'too small in cpus',
  NOT_ENOUGH_MEMORY: 'too small in memory',
  NOT_ENOUGH_DISK: 'too small in disk',
  NOT_ENOUGH_PORTS: 'without enough free ports',
  NOT_ENOUGH_EXTENDED_RESOURCES: 'without enough of an extended resource',
  TOO_MANY_TASKS: 'with as many tasks as they may run',
  TOO_MANY_TASKS_THIS_ROUND: 'at their limit of this round',
  RACK_SATURATED: 'in a rack with its share of the tasks',
  SLAVE_SATURATED: 'at their limit of tasks of this request',
  SLAVE_USAGE_UNKNOWN: 'without a sample of their use',
  SLAVE_OVERLOADED: 'too busy',
};

const reasonTexts: Record<Exclude<WaitingReason, 'NO_MATCHING_SLAVE' | 'PLACEABLE'>, string> = {
  NOT_DUE: 'Its time has not come',
  COOLDOWN: 'Its request cools down after failures, and its time has not come',
  REQUEST_GONE: 'Its request is gone; it is about to be removed',
  REQUEST_NOT_RUNNABLE: 'Its request is paused, finished or being deleted',
  DEPLOY_GONE: 'Its deploy is gone; it is about to be removed',
  DEPLOY_NOT_IN_USE: 'Its deploy is no longer in use; it is about to be removed',
  PLACEMENT_DISABLED: 'Placing tasks is disabled (PROCESS_OFFERS)',
  PRIORITY_FREEZE: 'A priority freeze holds back tasks of its priority level',
  CONCURRENCY_GROUP: 'As many runs of its concurrency group are active as may be',
  OLD_FIRST: 'An old task of its request has to end before it starts (deployStrategy OLD_FIRST)',
  START_ORDER: 'It starts when others are in service (startAfter)',
  INSTANCE_LIMIT: 'As many runs of its request are active as may be',
  EXCLUDED_TIME: 'Its request excludes the present time; it starts when that is over',
  CANNOT_BE_STORED: 'Its launch cannot be stored; it is tried again every minute',
  NOT_ADMITTED: 'Its cluster does not admit it now; it is tried again every minute, at first more often',
};

const shortageUnits: Partial<Record<RejectionReason, string>> = {
  NOT_ENOUGH_CPUS: 'cores',
  NOT_ENOUGH_MEMORY: 'MB',
  NOT_ENOUGH_DISK: 'MB',
  NOT_ENOUGH_PORTS: 'ports',
};

function detailsText({ reason, slaves, asked, largest, free, resource, because }: Rejection): string {
  if (because !== undefined) return ` (${because})`;
  const unit = resource ?? shortageUnits[reason];
  if (unit === undefined || asked === undefined) return '';
  const which = slaves === 1 ? 'it has' : `the largest of these ${slaves} slaves has`;
  return ` (the task asks for ${asked} ${unit}; ${which} ${largest}, ${free} free)`;
}

/** The explanation as a sentence for people. */
export function explanationText({ reason, slaves, fitting, rejections, cause }: Explanation): string {
  if (reason === 'PLACEABLE') return `Fits on ${fitting} of ${slaves} slaves; it is placed in the next round`;
  if (reason !== 'NO_MATCHING_SLAVE') return reasonTexts[reason] + (cause ? `: ${cause}` : '');
  if (slaves === 0) return 'There is no slave';
  const parts = rejections.map(
    (rejection) => `${rejection.slaves} ${rejectionTexts[rejection.reason]}${detailsText(rejection)}`,
  );
  return `No slave of ${slaves} can take it: ${parts.join(', ')}`;
}

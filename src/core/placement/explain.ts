import type { PendingTask } from '../model/task.js';
import type { RejectionReason } from './checks.js';
import { demandKey } from './demand.js';
import { Fleet } from './fleet.js';
import { heldBy, holdReasons, obsoleteReasons, wanted, type Candidate, type WaitingOutcome } from './place-tasks.js';
import { PlacementRound } from './round.js';
import type { PlacementRules, PlacementSnapshot } from './snapshot.js';

/**
 * Why a pending task is not running. NOT_DUE: its time has not come; COOLDOWN: nor has it, since its request cools down
 * after failures; NO_MATCHING_SLAVE: each machine has a reason against it; PLACEABLE: the next round places it. The
 * obsolete ones are removed in the next round.
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

/** `slaves` machines that cannot take the task for this reason, the first one that holds. */
export interface Rejection {
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
}

/** Why a pending task waits, by the code that places tasks. */
export function explainPending(
  pending: PendingTask,
  snapshot: PlacementSnapshot,
  rules: PlacementRules,
  now: number,
): Explanation {
  const candidate = wanted(pending, snapshot);
  if ('why' in candidate) return unseen(candidate.why);
  if (pending.pendingTaskId.nextRunAt > now) return unseen(coolsDown(candidate) ? 'COOLDOWN' : 'NOT_DUE');
  const round = new PlacementRound(new Fleet(snapshot.machines, rules), snapshot, rules);
  const held = heldBy(candidate, round.spreadOf(candidate.view).active, rules);
  if (held) return unseen(held);
  const { view, request } = candidate;
  const counts = round.allRejections(round.demandOf(demandKey(pending), pending, view, request)!);
  const rejections = byCount(counts);
  const fitting = snapshot.machines.length - rejections.reduce((sum, { slaves }) => sum + slaves, 0);
  const reason = fitting > 0 ? 'PLACEABLE' : 'NO_MATCHING_SLAVE';
  return { reason, slaves: snapshot.machines.length, fitting, rejections };
}

/** The same of a task that a round over `slaves` machines left pending. */
export function explainWaiting(outcome: WaitingOutcome, slaves: number): Explanation {
  if (outcome.why !== 'NO_MATCHING_SLAVE') return unseen(outcome.why);
  return { reason: outcome.why, slaves, fitting: 0, rejections: byCount(outcome.rejections) };
}

/** Most frequent first, then by name. */
const byCount = (counts: ReadonlyMap<RejectionReason, number>): Rejection[] =>
  [...counts]
    .map(([reason, slaves]) => ({ reason, slaves }))
    .sort((a, b) => b.slaves - a.slaves || (a.reason < b.reason ? -1 : 1));

/** A reason for which no machine was looked at. */
const unseen = (reason: WaitingReason): Explanation => ({ reason, slaves: 0, fitting: 0, rejections: [] });

const coolsDown = ({ view, pending }: Candidate): boolean =>
  view.state === 'SYSTEM_COOLDOWN' && pending.pendingTaskId.pendingType !== 'NEW_DEPLOY';

import type { PendingTask } from '../model/task.js';
import type { RejectionReason } from './checks.js';
import { demandKey } from './demand.js';
import { wanted } from './place-tasks.js';
import { PlacementRound } from './round.js';
import type { PlacementRules, PlacementSnapshot } from './snapshot.js';

/** Where a pending task could go right now: per machine the first reason against it, none where it fits. */
export function explainPlacement(
  pending: PendingTask,
  snapshot: PlacementSnapshot,
  rules: PlacementRules,
): { slaveId: string; reason: RejectionReason | undefined }[] | { why: string } {
  const candidate = wanted(pending, snapshot);
  if ('why' in candidate) return candidate;
  const round = new PlacementRound(snapshot, rules);
  return round.everyRejection(round.demandOf(demandKey(pending), pending, candidate.view, candidate.request)!);
}

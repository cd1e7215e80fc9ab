import { isRunnable } from '../model/enums.js';
import type { Request } from '../model/request.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { makeTaskId } from '../task-id.js';
import type { RejectionReason } from './checks.js';
import { demandKey, type Demand } from './demand.js';
import { RoundMachine } from './machine.js';
import { byWeight } from './order.js';
import { seededRandom } from './random.js';
import { PlacementRound } from './round.js';
import type { MachineView, PlacementRules, PlacementSnapshot, RequestView } from './snapshot.js';

/** What becomes of one pending task. */
export type PlacementOutcome =
  | {
      kind: 'place';
      pending: PendingTask;
      /** As the task carries it. */
      request: Request;
      machine: MachineView;
      taskId: TaskId;
      /** Assigned ones first, then literal host ports of its container. */
      ports: number[];
    }
  /** Stays pending: how many machines were refused, by reason. */
  | { kind: 'wait'; pending: PendingTask; why: 'NO_MATCHING_SLAVE'; rejections: ReadonlyMap<RejectionReason, number> }
  /** Stays pending: as many runs of the ON_DEMAND request are active as may be. */
  | { kind: 'wait'; pending: PendingTask; why: 'ENOUGH_ACTIVE_TASKS' }
  /** Nobody wants it any more. */
  | {
      kind: 'obsolete';
      pending: PendingTask;
      why: 'REQUEST_GONE' | 'REQUEST_NOT_RUNNABLE' | 'DEPLOY_GONE' | 'DEPLOY_NOT_IN_USE';
    };

interface Candidate {
  pending: PendingTask;
  view: RequestView;
  request: Request;
}

/**
 * Decides for every due pending task where it goes, or why it does not. One decision at a time, so that the caller can
 * let others have their turn, or write what is decided so far.
 */
export function* placeTasks(
  snapshot: PlacementSnapshot,
  rules: PlacementRules,
  now: number,
  seed: number,
): Generator<PlacementOutcome, void, undefined> {
  const candidates: Candidate[] = [];
  for (const pending of snapshot.due) {
    const candidate = wanted(pending, snapshot);
    if ('why' in candidate) yield { kind: 'obsolete', pending, why: candidate.why };
    else candidates.push(candidate);
  }
  const pass = new PlacementPass(snapshot, rules, now, seed);
  for (const candidate of byWeight(candidates, rules, now)) yield pass.place(candidate);
}

/** Is there still a request and a deploy that want this task? */
export function wanted(
  pending: PendingTask,
  snapshot: PlacementSnapshot,
): Candidate | { why: 'REQUEST_GONE' | 'REQUEST_NOT_RUNNABLE' | 'DEPLOY_GONE' | 'DEPLOY_NOT_IN_USE' } {
  const { requestId, deployId } = pending.pendingTaskId;
  const view = snapshot.requests.get(requestId);
  if (!view) return { why: 'REQUEST_GONE' };
  if (!isRunnable(view.state)) return { why: 'REQUEST_NOT_RUNNABLE' };
  if (!snapshot.deploys.has(`${requestId}-${deployId}`)) return { why: 'DEPLOY_GONE' };
  const isPendingDeploy = deployId === view.pendingDeploy?.deployId;
  const inUse = isPendingDeploy || deployId === view.activeDeployId;
  if (!inUse && view.request.requestType !== 'RUN_ONCE') return { why: 'DEPLOY_NOT_IN_USE' };
  const request = (isPendingDeploy ? view.pendingDeploy?.updatedRequest : undefined) ?? view.request;
  return { pending, view, request };
}

class PlacementPass {
  private readonly round: PlacementRound;
  private readonly random: () => number;
  private readonly taken: Set<string>;
  /** Demands that found no machine, by request. Until a task of the same request moves, asking again gives the same answer. */
  private readonly refused = new Map<string, Map<string, Map<RejectionReason, number>>>();

  constructor(
    snapshot: PlacementSnapshot,
    private readonly rules: PlacementRules,
    private readonly now: number,
    seed: number,
  ) {
    this.round = new PlacementRound(snapshot, rules);
    this.random = seededRandom(seed);
    this.taken = new Set(snapshot.takenTaskIds);
  }

  place({ pending, view, request }: Candidate): PlacementOutcome {
    if (this.round.spreadOf(view).active >= this.activeLimit(view.request)) {
      return { kind: 'wait', pending, why: 'ENOUGH_ACTIVE_TASKS' };
    }
    const key = demandKey(pending);
    const refused = this.refused.get(request.id) ?? new Map<string, Map<RejectionReason, number>>();
    const known = refused.get(key);
    if (known) return { kind: 'wait', pending, why: 'NO_MATCHING_SLAVE', rejections: known };
    const demand = this.round.demandOf(key, pending, view, request)!;
    const best = this.round.bestMachine(demand);
    if (best instanceof RoundMachine) return this.occupy(pending, demand, best);
    this.refused.set(request.id, refused.set(key, best));
    return { kind: 'wait', pending, why: 'NO_MATCHING_SLAVE', rejections: best };
  }

  private activeLimit(request: Request): number {
    if (request.requestType !== 'ON_DEMAND') return Number.POSITIVE_INFINITY;
    return request.instances ?? (this.rules.maxActiveOnDemandTasks || Number.POSITIVE_INFINITY);
  }

  private occupy(pending: PendingTask, demand: Demand, machine: RoundMachine): PlacementOutcome {
    const ports = this.round.occupy(demand, machine, this.random);
    const taskId = this.newTaskId(pending, machine.view);
    const { pendingType } = pending.pendingTaskId;
    const { slaveId, rackId } = machine.view;
    const { actionId } = pending;
    demand.spread.add({ taskId, slaveId, rackId, pendingType, actionId, cleaning: false, killed: false });
    // It changes what is even among racks and slaves, so refusals of the request may no longer hold.
    this.refused.delete(demand.request.id);
    return { kind: 'place', pending, request: demand.request, machine: machine.view, taskId, ports };
  }

  /** Two runs of one instance number started in the same millisecond on one machine would share an id. */
  private newTaskId(pending: PendingTask, { hostname, rackId }: MachineView): TaskId {
    const { requestId, deployId, instanceNo } = pending.pendingTaskId;
    for (let startedAt = this.now; ; startedAt++) {
      const taskId = makeTaskId({ requestId, deployId, startedAt, instanceNo, host: hostname, rackId });
      if (this.taken.has(taskId.id)) continue;
      this.taken.add(taskId.id);
      return taskId;
    }
  }
}

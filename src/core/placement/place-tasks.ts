import { deployKeyText } from '../model/deploy.js';
import { isLongRunning, isRunnable } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import { maxUnavailableNow } from '../model/strategy.js';
import type { PendingTask, TaskId } from '../model/task.js';
import { isBesideSchedule, startedRun } from '../pending-work/index.js';
import { plansAhead, runsAtOnce } from '../schedules/index.js';
import { makeTaskId } from '../task-id.js';
import type { RejectionReason } from './checks.js';
import { fullText, GroupRoom, inGroupOrder } from './concurrency-groups.js';
import { byWeight, type Demand, demandKey, priorityLevel } from './demand.js';
import { ExcludedTimes } from './excluded-times.js';
import { Fleet, FleetMachine, type FleetSnapshot } from './fleet.js';
import { seededRandom } from './port-pool.js';
import { PlacementRound } from './round.js';
import type { RequestSpread } from './request-spread.js';
import type { Shortages } from './shortages.js';
import type { MachineView, PlacementRules, PlacementSnapshot, RequestView } from './snapshot.js';

/**
 * Reasons why a due task waits before machines are checked: placing is switched off, a priority freeze is on and its
 * request ranks below, as many runs of the job, or of the concurrency group, are active as may be, old tasks of its service have to end
 * first, others are not in service after which its request starts, its request excludes the present time, its last launch could not be
 * stored, or was not admitted by its cluster.
 */
export const holdReasons = [
  'PLACEMENT_DISABLED',
  'PRIORITY_FREEZE',
  'INSTANCE_LIMIT',
  'CONCURRENCY_GROUP',
  'OLD_FIRST',
  'START_ORDER',
  'EXCLUDED_TIME',
  'CANNOT_BE_STORED',
  'NOT_ADMITTED',
] as const;
type HoldReason = (typeof holdReasons)[number];

/** Reasons why a pending task is obsolete. */
export const obsoleteReasons = ['REQUEST_GONE', 'REQUEST_NOT_RUNNABLE', 'DEPLOY_GONE', 'DEPLOY_NOT_IN_USE'] as const;
type ObsoleteReason = (typeof obsoleteReasons)[number];

/** Reasons why no machine takes a task. */
export interface PlacementRefusal {
  rejections: ReadonlyMap<RejectionReason, number>;
  shortages: Shortages;
}

/** Outcome of one pending task. */
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
      /** The most live tasks of its request, this one counted. Absent: any number, since new tasks start before old ones end. */
      mostLive?: number;
    }
  /** Stays pending: how many machines were refused, by reason, and what those had too little of. */
  | ({ kind: 'wait'; pending: PendingTask; why: 'NO_MATCHING_SLAVE' } & PlacementRefusal)
  /** Stays pending, whatever machines there are. */
  | { kind: 'wait'; pending: PendingTask; why: HoldReason; cause?: string }
  /** It is not wanted any more. */
  | {
      kind: 'obsolete';
      pending: PendingTask;
      why: ObsoleteReason;
    };

/** A due task that was not placed. */
export type WaitingOutcome = Extract<PlacementOutcome, { kind: 'wait' }>;

/** A pending task that is still wanted. */
export interface Candidate {
  pending: PendingTask;
  view: RequestView;
  request: Request;
}

/**
 * Decides for every due pending task where it goes, or why it does not. One decision at a time, so that the caller can
 * let others have their turn, or write what is decided so far.
 */
export function* placeTasks(
  snapshot: PlacementSnapshot | FleetSnapshot,
  rules: PlacementRules,
  now: number,
  seed: number,
): Generator<PlacementOutcome, void, undefined> {
  const candidates: Candidate[] = [];
  for (const pending of snapshot.due) {
    const candidate = candidateOf(pending, snapshot);
    if ('why' in candidate) yield { kind: 'obsolete', pending, why: candidate.why };
    else candidates.push(candidate);
  }
  const pass = new PlacementPass(snapshot, rules, now, seed);
  for (const candidate of inGroupOrder(byWeight(candidates, rules, now), rules)) yield pass.place(candidate);
}

/** The candidate of a task, or the reason why no request and deploy want it any more. */
export function candidateOf(
  pending: PendingTask,
  snapshot: Pick<FleetSnapshot, 'requests' | 'deploys'>,
): Candidate | { why: ObsoleteReason } {
  const { requestId, deployId } = pending.pendingTaskId;
  const view = snapshot.requests.get(requestId);
  if (!view) return { why: 'REQUEST_GONE' };
  if (!isRunnable(view.state)) return { why: 'REQUEST_NOT_RUNNABLE' };
  if (!snapshot.deploys.has(deployKeyText(pending.pendingTaskId))) return { why: 'DEPLOY_GONE' };
  const isPendingDeploy = deployId === view.pendingDeploy?.deployId;
  const inUse = isPendingDeploy || deployId === view.activeDeployId;
  if (!inUse && view.request.requestType !== 'RUN_ONCE') return { why: 'DEPLOY_NOT_IN_USE' };
  const request = (isPendingDeploy ? view.pendingDeploy?.updatedRequest : undefined) ?? view.request;
  return { pending, view, request };
}

/** What the reasons to hold a task look at besides the task. */
export interface HoldView {
  /** Of the request. */
  spread: RequestSpread;
  /** See PlacementOutcome. */
  mostLive?: number;
  room: GroupRoom;
  excluded: ExcludedTimes;
  rules: PlacementRules;
}

/** Does it have to wait, whatever machines there are? */
export function heldBy(candidate: Candidate, among: HoldView): HoldReason | undefined {
  const { view, request, pending } = candidate;
  const { spread, mostLive = Number.POSITIVE_INFINITY, room, excluded, rules } = among;
  if (rules.disabled) return 'PLACEMENT_DISABLED';
  if (priorityLevel(request, rules) < (rules.minimumPriorityLevel ?? 0)) return 'PRIORITY_FREEZE';
  // A run that is tried again comes before the next time.
  const ahead = pending.pendingTaskId.pendingType === 'RETRY' ? 0 : (view.waitingRetries ?? 0);
  const takesTurn = !isBesideSchedule(pending.pendingTaskId);
  if (takesTurn && spread.inTurn + ahead >= activeLimit(view.request, rules)) return 'INSTANCE_LIMIT';
  if (room.fullFor(view.request)) return 'CONCURRENCY_GROUP';
  if (spread.live >= mostLive) return 'OLD_FIRST';
  if (rules.startWaits?.has(request.id)) return 'START_ORDER';
  if (excluded.hold(pending, request, view)) return 'EXCLUDED_TIME';
  return rules.setAside?.get(pending.pendingTaskId.id)?.why;
}

/** The most live tasks of a service or worker whose old tasks end before new ones start; undefined: any number. */
export function mostLiveOf(
  view: RequestView,
  spread: RequestSpread,
  deploys: PlacementSnapshot['deploys'],
): number | undefined {
  const { request, pendingDeploy, activeDeployId } = view;
  if (!isLongRunning(request.requestType)) return undefined;
  const deployOf = (deployId: string | undefined) =>
    deployId === undefined ? undefined : deploys.get(deployKeyText({ requestId: request.id, deployId }))?.deploy;
  const pending = deployOf(pendingDeploy?.deployId);
  const ofTasks = [...spread.deployIds].flatMap((deployId) => deployOf(deployId) ?? []);
  const most = maxUnavailableNow({ pending, active: deployOf(activeDeployId), ofTasks });
  return most === undefined ? undefined : instancesOf(pendingDeploy?.updatedRequest ?? request);
}

/** Names those for which a user can do something: bring their machine back, or remove it. */
function perhapsRunning({ givenUp }: RequestSpread): string {
  if (givenUp.length === 0) return '';
  const names = givenUp.map(({ taskId, slaveId }) => `'${taskId.id}' on slave '${slaveId}'`).toSorted();
  return `, and may still run: ${names.join(', ')}, until its slave answers or is removed`;
}

/** Particulars of a reason to wait. */
export function causeOf(held: HoldReason, { view, pending }: Candidate, among: HoldView): string | undefined {
  const { spread, mostLive, room, rules } = among;
  if (held === 'OLD_FIRST') return `${spread.live} of at most ${mostLive} live${perhapsRunning(spread)}`;
  if (held === 'START_ORDER') return rules.startWaits?.get(view.request.id);
  const use = held === 'CONCURRENCY_GROUP' ? room.fullFor(view.request) : undefined;
  if (use) return fullText(view.request.concurrencyGroup!.name, use);
  const setAside = rules.setAside?.get(pending.pendingTaskId.id);
  return setAside?.why === held ? setAside.cause : undefined;
}

function activeLimit(request: Request, { maxActiveOnDemandTasks }: PlacementRules): number {
  const { requestType, instances } = request;
  if (plansAhead(request)) return runsAtOnce(request);
  if (requestType !== 'ON_DEMAND') return Number.POSITIVE_INFINITY;
  return instances ?? (maxActiveOnDemandTasks || Number.POSITIVE_INFINITY);
}

class PlacementPass {
  private readonly round: PlacementRound;
  private readonly random: () => number;
  private readonly room: GroupRoom;
  private readonly excluded: ExcludedTimes;
  /** Ids given in this pass. */
  private readonly given = new Set<string>();
  /** Demands that found no machine, by request. Until a task of the same request moves, asking again gives the same answer. */
  private readonly refused = new Map<string, Map<string, PlacementRefusal>>();

  constructor(
    private readonly snapshot: PlacementSnapshot | FleetSnapshot,
    private readonly rules: PlacementRules,
    private readonly now: number,
    seed: number,
  ) {
    const { machines } = snapshot;
    this.round = new PlacementRound(machines instanceof Fleet ? machines : new Fleet(machines, rules), snapshot, rules);
    this.random = seededRandom(seed);
    this.room = new GroupRoom(snapshot.groups);
    this.excluded = new ExcludedTimes(now);
  }

  place({ pending, view, request }: Candidate): PlacementOutcome {
    const candidate = { pending, view, request };
    const { room, excluded, rules } = this;
    const spread = this.round.spreadOf(view);
    const mostLive = mostLiveOf(view, spread, this.snapshot.deploys);
    const among = { spread, mostLive, room, excluded, rules };
    const held = heldBy(candidate, among);
    if (held) return { kind: 'wait', pending, why: held, cause: causeOf(held, candidate, among) };
    const key = demandKey(pending);
    const refused = this.refused.get(request.id) ?? new Map<string, PlacementRefusal>();
    const known = refused.get(key);
    if (known) return { kind: 'wait', pending, why: 'NO_MATCHING_SLAVE', ...known };
    const demand = this.round.demandOf(key, pending, view, request)!;
    const best = this.round.bestMachine(demand);
    if (best instanceof FleetMachine) {
      this.room.take(view.request);
      return this.occupy(startedRun(pending, view, this.now), demand, best, mostLive);
    }
    const refusal: PlacementRefusal = { rejections: best, shortages: this.round.shortages(demand) };
    this.refused.set(request.id, refused.set(key, refusal));
    return { kind: 'wait', pending, why: 'NO_MATCHING_SLAVE', ...refusal };
  }

  private occupy(pending: PendingTask, demand: Demand, machine: FleetMachine, most?: number): PlacementOutcome {
    const ports = this.round.occupy(demand, machine, this.random);
    const taskId = this.newTaskId(pending, machine.view);
    const { pendingType } = pending.pendingTaskId;
    const { slaveId, rackId } = machine.view;
    const { actionId } = pending;
    demand.spread.add({ taskId, slaveId, rackId, pendingType, actionId, cleaning: false, killed: false });
    // It changes what is even among racks and slaves, so refusals of the request may no longer hold.
    this.refused.delete(demand.request.id);
    const bounded = most === undefined ? {} : { mostLive: most };
    return { kind: 'place', pending, request: demand.request, machine: machine.view, taskId, ports, ...bounded };
  }

  /** Two runs of one instance number started in the same millisecond on one machine would share an id. */
  private newTaskId(pending: PendingTask, { hostname, rackId }: MachineView): TaskId {
    const { requestId, deployId, instanceNo } = pending.pendingTaskId;
    for (let startedAt = this.now; ; startedAt++) {
      const taskId = makeTaskId({ requestId, deployId, startedAt, instanceNo, host: hostname, rackId });
      if (this.given.has(taskId.id) || this.snapshot.takenTaskIds.has(taskId.id)) continue;
      this.given.add(taskId.id);
      return taskId;
    }
  }
}

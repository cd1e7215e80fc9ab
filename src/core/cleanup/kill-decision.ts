import {
  healthContext,
  isWell,
  judgeTasks,
  type HealthContext,
  type HealthSettings,
  type ObservedTask,
} from '../health/index.js';
import {
  decideRemoval,
  getsTraffic,
  isInLoadBalancer,
  noRecords,
  type BalancerRecords,
} from '../load-balancer/index.js';
import type { Deploy } from '../model/deploy.js';
import { isLongRunning, isTerminal, type RequestState, type TaskCleanupType } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import { countsAsLive, maxUnavailableNow } from '../model/strategy.js';
import type { TaskCleanup } from '../model/task.js';
import { cleanupRules } from './cleanup-rules.js';

export interface CleanupSettings extends HealthSettings {
  killNonLongRunningTasksInCleanupAfterSeconds: number;
  pendingDeployHoldTaskDuringDecommissionMillis: number;
  loadBalancerRemovalGracePeriodMillis: number;
  killTaskIfNotHealthyAfterSeconds: number;
}

export interface CleanupTask extends ObservedTask {
  cleanup?: TaskCleanup;
  /** A kill was decided earlier. */
  killed: boolean;
  /** It was given up, and may still run. */
  mayRun?: boolean;
  /** The changes of the load balancer for this task; absent: nothing. */
  balancing?: BalancerRecords;
  /** It was decided that the load balancer lets go of it, which that may not have been told yet. */
  isLeaving?: boolean;
  /** The command that was to run before its kill has not ended. */
  awaitsCommand?: boolean;
}

/** The tasks of one request that have to go, with everything that decides when. */
export interface CleanupView {
  /** undefined: the request is gone. */
  request?: Request;
  requestState?: RequestState;
  activeDeployId?: string;
  pendingDeployId?: string;
  /** Deploys of the active tasks and those in use, by id. */
  deploys: ReadonlyMap<string, Deploy>;
  /** The request is behind a load balancer: a replacement counts when it gets traffic. */
  loadBalanced?: boolean;
  /** All live tasks of the request. */
  tasks: readonly CleanupTask[];
  settings: CleanupSettings;
}

export type KillDecision =
  | { kind: 'kill'; cleanup: TaskCleanup }
  /** It may go as soon as the load balancer has let go of it. */
  | { kind: 'leave'; cleanup: TaskCleanup }
  | { kind: 'wait'; cleanup: TaskCleanup; because: WaitReason }
  /** The task has ended, there is nothing left to do. */
  | { kind: 'drop'; cleanup: TaskCleanup };

type WaitReason =
  | 'SHELL_COMMAND_NOT_ENDED'
  | 'OLD_JOB_MAY_END'
  | 'HELD_FOR_DEPLOY'
  | 'TOO_FEW_REPLACEMENTS'
  /** Old tasks end first, and as many instances are missing as may be. */
  | 'TOO_FEW_AVAILABLE'
  | 'REPLACEMENTS_NOT_HEALTHY'
  | 'REPLACEMENTS_NOT_IN_LOAD_BALANCER';

/**
 * Decides about every task of the request that has a cleanup. In the order of their ids: of several that go one by one
 * it must not be the order of rows that says which is next.
 */
export function decideKills(view: CleanupView, now: number): KillDecision[] {
  const oneByOne = new OneByOne(view, now);
  const oldFirst = OldFirst.of(view, now);
  const tasks = view.tasks.toSorted((a, b) => (a.taskId.id < b.taskId.id ? -1 : 1));
  return tasks.flatMap((task) => {
    if (!task.cleanup) return [];
    if (isTerminal(task.state)) return { kind: 'drop', cleanup: task.cleanup };
    const decision = decideKill(view, task, task.cleanup, { oneByOne, oldFirst }, now);
    const leaves = decision.kind === 'kill' || leavesFirst(decision);
    return leaves && !mayDie(view, task, task.cleanup, now) ? { ...decision, kind: 'leave' } : decision;
  });
}

/** A sick task gets no more traffic from when it is told to go on, and not only when it is replaced. */
const leavesFirst = ({ kind, cleanup }: KillDecision): boolean =>
  kind === 'wait' && cleanup.cleanupType === 'UNHEALTHY_TASK';

/** Traffic goes elsewhere first. Only a pause does not wait for that: nothing of the request is to be reached any more. */
const mayDie = ({ settings }: CleanupView, task: CleanupTask, { cleanupType }: TaskCleanup, now: number): boolean =>
  cleanupType === 'PAUSE' ||
  decideRemoval(task.taskId, task.balancing ?? noRecords, settings.loadBalancerRemovalGracePeriodMillis, now).kind ===
    'done';

/** The first rule that holds decides. */
function decideKill(
  view: CleanupView,
  task: CleanupTask,
  cleanup: TaskCleanup,
  { oneByOne, oldFirst }: { oneByOne: OneByOne; oldFirst?: OldFirst },
  now: number,
): KillDecision {
  const kill: KillDecision = { kind: 'kill', cleanup };
  const wait = (because: WaitReason): KillDecision => ({ kind: 'wait', cleanup, because });
  const { request } = view;
  const { cleanupType } = cleanup;
  if (!request) return kill;
  if (task.awaitsCommand) return wait('SHELL_COMMAND_NOT_ENDED');
  const longRunning = isLongRunning(request.requestType);
  const rule = cleanupRules[cleanupType];
  if (longRunning ? rule.longRunningAtOnce : rule.othersAtOnce) return kill;
  if (view.requestState === 'PAUSED' && (cleanupType !== 'PAUSING' || longRunning)) return kill;
  if (!longRunning) {
    const mayGoAt = cleanup.timestamp + jobAgeLimitMillis(request, view.settings);
    return now > mayGoAt || mayGoAt - cleanup.timestamp < 1 ? kill : wait('OLD_JOB_MAY_END');
  }
  if (cleanupType === 'DECOMISSIONING' && task.taskId.deployId === view.pendingDeployId) {
    const heldUntil = cleanup.timestamp + view.settings.pendingDeployHoldTaskDuringDecommissionMillis;
    return now > heldUntil ? kill : wait('HELD_FOR_DEPLOY');
  }
  if (!view.activeDeployId) return kill;
  if (oldFirst) return oldFirst.mayKill(task) ? kill : wait('TOO_FEW_AVAILABLE');
  if (cleanupType === 'UNHEALTHY_TASK') {
    const because = whySickWaits(view, task, now - cleanup.timestamp, now);
    return because ? wait(because) : kill;
  }
  if (isOneByOne(cleanupType)) return oneByOne.mayKill(task, cleanupType) ? kill : wait('TOO_FEW_REPLACEMENTS');
  const replacements = replacementsOf(view, deployOfReplacements(view, task));
  if (replacements.length < instancesOf(request)) return wait('TOO_FEW_REPLACEMENTS');
  if (!areHealthy(view, replacements, now)) return wait('REPLACEMENTS_NOT_HEALTHY');
  return replacements.every((replacement) => isServing(view, replacement))
    ? kill
    : wait('REPLACEMENTS_NOT_IN_LOAD_BALANCER');
}

/** A machine takes a replacement within a moment, if one has room for it. */
const sickWaitsForRoomMillis = 15_000;

/**
 * A sick task goes when the one in its place is in service. Where none was started in time there is no room for both, so it makes
 * room; and for one that does not become healthy it is not kept for ever.
 */
function whySickWaits(view: CleanupView, task: CleanupTask, waited: number, now: number): WaitReason | undefined {
  const deployId = deployOfReplacements(view, task);
  const replacement = replacementsOf(view, deployId).find(({ taskId }) => taskId.instanceNo === task.taskId.instanceNo);
  const patience = replacement ? view.settings.killTaskIfNotHealthyAfterSeconds * 1000 : sickWaitsForRoomMillis;
  if (waited >= patience) return undefined;
  if (!replacement) return 'TOO_FEW_REPLACEMENTS';
  if (!areHealthy(view, [replacement], now)) return 'REPLACEMENTS_NOT_HEALTHY';
  return isServing(view, replacement) ? undefined : 'REPLACEMENTS_NOT_IN_LOAD_BALANCER';
}

const jobAgeLimitMillis = (request: Request, settings: CleanupSettings): number =>
  request.killOldNonLongRunningTasksAfterMillis ?? settings.killNonLongRunningTasksInCleanupAfterSeconds * 1000;

/** Types whose tasks go one at a time, each when one healthy replacement more is there. */
type OneByOneType = 'INCREMENTAL_BOUNCE' | 'INCREMENTAL_DEPLOY_FAILED' | 'INCREMENTAL_DEPLOY_CANCELLED';
const isOneByOne = (type: TaskCleanupType): type is OneByOneType =>
  type === 'INCREMENTAL_BOUNCE' || type === 'INCREMENTAL_DEPLOY_FAILED' || type === 'INCREMENTAL_DEPLOY_CANCELLED';

/** Keeps count over one pass: a kill decided a moment ago changes what the next task of the same bounce may do. */
class OneByOne {
  private readonly remaining = new Map<string, number>();

  constructor(
    private readonly view: CleanupView,
    private readonly now: number,
  ) {}

  mayKill(task: CleanupTask, type: OneByOneType): boolean {
    const instances = instancesOf(this.view.request);
    if (type !== 'INCREMENTAL_BOUNCE') return this.healthy(this.view.activeDeployId!) >= instances;
    const deployId = deployOfReplacements(this.view, task);
    const remaining = this.remaining.get(task.taskId.deployId) ?? this.bouncing(task.taskId.deployId);
    if (this.healthy(deployId) + remaining <= instances) return false;
    this.remaining.set(task.taskId.deployId, remaining - 1);
    return true;
  }

  private bouncing(deployId: string): number {
    return this.view.tasks.filter(
      (task) =>
        task.cleanup?.cleanupType === 'INCREMENTAL_BOUNCE' &&
        task.taskId.deployId === deployId &&
        !isTerminal(task.state) &&
        !task.killed,
    ).length;
  }

  private healthy(deployId: string): number {
    return replacementsOf(this.view, deployId).filter((task) => isAvailable(this.view, task, this.now)).length;
  }
}

/**
 * Tasks that have to go end before their replacements start: as many as may be missing, over one pass. Those that serve nobody take
 * nothing away. One that the load balancer was told of, and has not confirmed, may serve and does not make up for another.
 */
class OldFirst {
  private readonly available: Set<CleanupTask>;

  private constructor(
    private readonly view: CleanupView,
    private readonly fewest: number,
    private readonly now: number,
  ) {
    this.available = new Set(view.tasks.filter((task) => !goesAnyway(task) && isAvailable(view, task, now)));
  }

  static of(view: CleanupView, now: number): OldFirst | undefined {
    const { request, deploys, activeDeployId, pendingDeployId } = view;
    if (!request || !isLongRunning(request.requestType)) return undefined;
    const deployOf = (id: string | undefined) => (id === undefined ? undefined : deploys.get(id));
    const live = view.tasks.filter(({ state, mayRun = false }) => countsAsLive({ ended: isTerminal(state), mayRun }));
    const most = maxUnavailableNow({
      pending: deployOf(pendingDeployId),
      active: deployOf(activeDeployId),
      ofTasks: live.flatMap(({ taskId }) => deployOf(taskId.deployId) ?? []),
    });
    return most === undefined ? undefined : new OldFirst(view, instancesOf(request) - most, now);
  }

  mayKill(task: CleanupTask): boolean {
    if (goesAnyway(task) || !mayServe(this.view, task) || !isUp(this.view, task, this.now)) return true;
    const others = this.available.size - (this.available.has(task) ? 1 : 0);
    if (others < this.fewest) return false;
    this.available.delete(task);
    return true;
  }
}

const goesAnyway = ({ cleanup, killed, isLeaving }: CleanupTask): boolean =>
  killed || isLeaving === true || (cleanup !== undefined && cleanupRules[cleanup.cleanupType].longRunningAtOnce);

const isAvailable = (view: CleanupView, task: CleanupTask, now: number): boolean =>
  isUp(view, task, now) && isServing(view, task);

function isUp(view: CleanupView, task: CleanupTask, now: number): boolean {
  const context = contextOf(view, task.taskId.deployId);
  return context !== undefined && isWell(task, context, now);
}

/** Replacements come from the task's own deploy, or from the active one once that deploy is no longer in use. */
function deployOfReplacements(view: CleanupView, { taskId }: CleanupTask): string {
  const inUse = taskId.deployId === view.activeDeployId || taskId.deployId === view.pendingDeployId;
  return inUse ? taskId.deployId : view.activeDeployId!;
}

const replacementsOf = (view: CleanupView, deployId: string): CleanupTask[] =>
  view.tasks.filter(
    (task) => task.taskId.deployId === deployId && !task.cleanup && !task.killed && !isTerminal(task.state),
  );

/** True when the load balancer, if there is one, has added the task. */
const isServing = ({ loadBalanced }: CleanupView, { balancing = noRecords }: CleanupTask): boolean =>
  !loadBalanced || getsTraffic(balancing);

/** False when the load balancer, if there is one, sends no traffic to the task. */
const mayServe = ({ loadBalanced }: CleanupView, { balancing = noRecords }: CleanupTask): boolean =>
  !loadBalanced || isInLoadBalancer(balancing);

function areHealthy(view: CleanupView, replacements: readonly CleanupTask[], now: number): boolean {
  const [first] = replacements;
  if (!first) return true;
  const context = contextOf(view, first.taskId.deployId);
  if (!context || replacements.some(({ isSick }) => isSick)) return false;
  return judgeTasks(replacements, context, now) === 'HEALTHY';
}

function contextOf(view: CleanupView, deployId: string): HealthContext | undefined {
  const deploy = view.deploys.get(deployId);
  return deploy && healthContext(deploy, view.request, false, view.settings);
}

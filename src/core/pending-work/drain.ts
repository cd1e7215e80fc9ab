import type { DeployProgress } from '../model/deploy.js';
import { isLongRunning, isRunnable, type PendingType } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import type { PendingRequest, PendingTask, PendingTaskId } from '../model/task.js';
import {
  type ActiveTask,
  type EntryOutcome,
  isBesideSchedule,
  type PendingWork,
  type WaitingRequest,
  waitsForPromises,
  waitsForRuns,
  type WorkDecision,
  type WorkRules,
} from './pending-work.js';
import { type PlannedStart, plannedStart } from './next-run-at.js';
import { nextStart } from '../restarts/index.js';
import { scaleDown } from './scale-down.js';
import { inherited, PendingTaskMaker } from './pending-task-maker.js';

/** A user starts the whole request again, however often its instances failed. */
const beginsAnew: ReadonlySet<PendingType> = new Set<PendingType>(['NEW_DEPLOY', 'BOUNCE', 'UNPAUSED']);

const runsOfTheirOwn: ReadonlySet<PendingType> = new Set<PendingType>(['IMMEDIATE', 'ONEOFF']);

/** Decides about the waiting entries of one request and deploy: pending tasks, cleanups, a change of state. */
export function drain(work: PendingWork, rules: WorkRules, now: number): WorkDecision {
  const decision: WorkDecision = {
    outcomes: [],
    leavesCooldown: false,
    finishes: false,
    replacesPendingTasks: false,
    create: [],
    cleanups: [],
    forgetsFailures: false,
  };
  const { request: waiting } = work;
  if (!waiting || !isRunnable(waiting.state)) {
    const why = waiting ? 'REQUEST_NOT_RUNNABLE' : 'REQUEST_GONE';
    decision.outcomes = work.entries.map(() => ({ kind: 'obsolete', why }));
    return decision;
  }
  const pass = new DrainPass(work, waiting, rules, now, decision);
  for (const entry of work.entries) decision.outcomes.push(pass.take(entry));
  return decision;
}

class DrainPass {
  private scheduled = false;
  private matching: ActiveTask[];
  private maker: PendingTaskMaker;

  constructor(
    private readonly work: PendingWork,
    private readonly waiting: WaitingRequest,
    private readonly rules: WorkRules,
    private readonly now: number,
    private readonly decision: WorkDecision,
  ) {
    this.matching = matchingTasks(work, waiting);
    this.maker = this.newMaker();
  }

  /** Ids of tasks that are replaced are free. */
  private newMaker(): PendingTaskMaker {
    const { decision, work } = this;
    const isTaken = (id: string, parts: Pick<PendingTaskId, 'pendingType'>): boolean =>
      (isBesideSchedule(parts) || !decision.replacesPendingTasks) && work.pendingTaskIds.has(id);
    return new PendingTaskMaker(isTaken, work.newFlowId, decision.create);
  }

  take(entry: PendingRequest): EntryOutcome {
    const { requestType } = this.waiting.request;
    const obsolete = whyObsolete(this.waiting, entry, this.work.lastEnd);
    if (obsolete) return { kind: 'obsolete', why: obsolete };
    if (isBesideSchedule(entry)) {
      this.plan(entry, 1);
      return { kind: 'scheduled' };
    }
    if (this.isHeld(entry)) return { kind: 'hold' };
    if (this.scheduled && !this.isRunOfItsOwn(entry)) {
      const covered = entry.pendingType === 'NEW_DEPLOY' || entry.pendingType === 'TASK_DONE';
      return { kind: requestType === 'SCHEDULED' && covered ? 'replaced' : 'later' };
    }
    this.scheduled = true;
    this.schedule(entry);
    return { kind: 'scheduled' };
  }

  /** Runs that were asked for one by one are all planned in the same pass; none stands for another. */
  private isRunOfItsOwn({ pendingType }: PendingRequest): boolean {
    const isRetriedRun = pendingType === 'RETRY' && this.waiting.request.requestType === 'ON_DEMAND';
    return runsOfTheirOwn.has(pendingType) || isRetriedRun;
  }

  /** A new deploy of a job waits for the run in progress; a start-up finds nothing to do. */
  private isHeld(entry: PendingRequest): boolean {
    const effective = this.effectiveRequest(entry);
    if (effective.request.requestType !== 'SCHEDULED') return false;
    if (waitsForPromises(entry, this.work)) return true;
    if (missingInstances(effective, entry, this.matching) !== 0) return false;
    return this.matching.length > 0
      ? waitsForRuns(entry, this.matching)
      : entry.pendingType === 'NEW_DEPLOY' || entry.pendingType === 'STARTUP';
  }

  /** A deploy may bring its own version of the request, which counts for the entries of that deploy. */
  private effectiveRequest(entry: PendingRequest): WaitingRequest {
    const { pendingDeploy } = this.waiting;
    const updated = pendingDeploy?.deployId === entry.deployId ? pendingDeploy.updatedRequest : undefined;
    return updated ? { ...this.waiting, request: updated } : this.waiting;
  }

  private schedule(entry: PendingRequest): void {
    const { request } = this.waiting;
    if (this.waiting.state === 'SYSTEM_COOLDOWN' && !this.work.failingFast) this.decision.leavesCooldown = true;
    // A run that a caller asked for goes on in place of a schedule that has ended.
    this.decision.finishes = false;
    if (request.requestType !== 'ON_DEMAND') {
      this.decision.replacesPendingTasks = true;
      this.decision.create = this.decision.create.filter(({ pendingTaskId }) => isBesideSchedule(pendingTaskId));
      this.maker = this.newMaker();
    }
    if (isLongRunning(request.requestType)) this.dropTwins(entry);
    const missing = missingInstances(this.waiting, entry, this.matching);
    if (missing > 0) this.plan(entry, missing);
    if (missing < 0 && !this.isEndedByDeploy(entry)) this.shrink(entry);
  }

  /** A deploy that ends old tasks first says when each of them goes. */
  private isEndedByDeploy({ deployId }: PendingRequest): boolean {
    const { pendingDeploy } = this.waiting;
    return pendingDeploy?.progress?.maxUnavailable !== undefined && pendingDeploy.deployId !== deployId;
  }

  /** The younger of two tasks with one number goes, even when their count is right: another number is missing. */
  private dropTwins({ user }: PendingRequest): void {
    const kept = new Map<number, ActiveTask>();
    // Where each slave has one, the one stays that stands where it may.
    const { isActive = () => true, onePerSlave = () => false } = this.rules;
    const isSpread = onePerSlave(this.waiting.request);
    const rank = ({ slaveId }: ActiveTask): number => (isSpread && !isActive(slaveId) ? 1 : 0);
    for (const task of this.matching.toSorted((a, b) => rank(a) - rank(b) || byAge(a, b))) {
      const { instanceNo } = task.taskId;
      if (!kept.has(instanceNo)) kept.set(instanceNo, task);
      else this.decision.cleanups.push({ taskId: task.taskId, cleanupType: 'SCALING_DOWN', user });
    }
    this.matching = this.matching.filter((task) => kept.get(task.taskId.instanceNo) === task);
  }

  private shrink(entry: PendingRequest): void {
    const deployPending = this.waiting.pendingDeploy !== undefined;
    const expected = expectedInstances(this.waiting, entry.deployId);
    const { request } = this.waiting;
    const result = scaleDown(
      { request, matching: this.matching, expected, deployPending, user: entry.user },
      this.rules,
    );
    this.decision.cleanups.push(...result.cleanups);
    this.matching = result.survivors;
    if (result.replacements > 0) this.plan(entry, result.replacements);
  }

  private plan(entry: PendingRequest, count: number): void {
    const state = this.decision.leavesCooldown ? 'ACTIVE' : this.waiting.state;
    const start = plannedStart({ ...this.waiting, state }, entry, this.rules.cooldownMinScheduleMillis, this.now);
    if (start === undefined) {
      this.decision.finishes = true;
      return;
    }
    const { restart } = this.waiting.request;
    if (restart && beginsAnew.has(entry.pendingType)) this.decision.forgetsFailures = true;
    for (const instanceNo of freeInstanceNumbers(this.matching, count)) {
      const failures = this.decision.forgetsFailures ? undefined : this.work.failures?.get(instanceNo);
      const restarts = restart ? nextStart(restart, failures, this.now) : { kind: 'now' as const };
      if (restarts.kind === 'givenUp') continue;
      const task = this.pendingTask(entry, instanceNo, {
        ...start,
        at: restarts.kind === 'at' ? Math.max(start.at, restarts.at) : start.at,
      });
      this.decision.create.push(task);
    }
  }

  private pendingTask(entry: PendingRequest, instanceNo: number, start: PlannedStart): PendingTask {
    const { requestId, deployId, pendingType } = entry;
    const { at, scheduledAt } = start;
    // What has to wait for its time was not asked for later than that, whatever the clock said then.
    const askedAt = at > this.now ? Math.min(entry.timestamp, this.now) : entry.timestamp;
    const origin = scheduledAt === undefined ? {} : { trigger: 'SCHEDULE' as const, scheduledAt };
    const parts = { requestId, deployId, nextRunAt: at, instanceNo, pendingType };
    return this.maker.make(parts, askedAt, { ...inherited(entry), ...origin });
  }
}

const byAge = ({ taskId: a }: ActiveTask, { taskId: b }: ActiveTask): number =>
  a.startedAt - b.startedAt || (a.id < b.id ? -1 : 1);

/** The tasks that count against the wanted number. A replacement for one that has to go is wanted at once. */
function matchingTasks({ tasks, deployId }: PendingWork, { request }: WaitingRequest): ActiveTask[] {
  if (!isLongRunning(request.requestType)) return tasks.filter((task) => !isBesideSchedule(task));
  return tasks.filter((task) => task.taskId.deployId === deployId && task.cleaning === undefined && !task.killed);
}

function whyObsolete(
  { request, activeDeployId, pendingDeploy }: WaitingRequest,
  entry: PendingRequest,
  lastEnd: PendingWork['lastEnd'],
): 'DEPLOY_NOT_IN_USE' | 'NO_DEPLOY_PENDING' | 'HAS_RUN' | undefined {
  const isNewDeploy = entry.pendingType === 'NEW_DEPLOY';
  if (isRunOfDeploy(request, entry)) return undefined;
  if (request.requestType === 'RUN_ONCE' && hasRun(entry, lastEnd)) return 'HAS_RUN';
  if (isLongRunning(request.requestType) && isNewDeploy && !pendingDeploy) return 'NO_DEPLOY_PENDING';
  const inUse = entry.deployId === activeDeployId || entry.deployId === pendingDeploy?.deployId;
  return inUse ? undefined : 'DEPLOY_NOT_IN_USE';
}

/** The lowest numbers that no matching task has: gaps are filled first. */
function freeInstanceNumbers(matching: readonly ActiveTask[], count: number): number[] {
  const used = new Set(matching.map((task) => task.taskId.instanceNo));
  const free: number[] = [];
  for (let number = 1; free.length < count; number++) if (!used.has(number)) free.push(number);
  return free;
}

/** Number of tasks that `entry` still asks for beside the matching ones; negative when there are too many. */
function missingInstances(waiting: WaitingRequest, entry: PendingRequest, matching: readonly ActiveTask[]): number {
  const { requestType } = waiting.request;
  if (requestType === 'ON_DEMAND') return entry.pendingType === 'ONEOFF' || entry.pendingType === 'RETRY' ? 1 : 0;
  if (requestType === 'RUN_ONCE') {
    const runs = matching.some(({ taskId }) => taskId.deployId === entry.deployId);
    return isRunOfDeploy(waiting.request, entry) || !runs ? 1 : 0;
  }
  if (isGivenUp(waiting, entry.deployId)) return 0;
  return expectedInstances(waiting, entry.deployId) - matching.length;
}

/** One run that has ended is all that a deploy of a RUN_ONCE request has, unless a pause took it away. */
const hasRun = ({ pendingType }: PendingRequest, lastEnd: PendingWork['lastEnd']): boolean =>
  lastEnd !== undefined && !(pendingType === 'UNPAUSED' && lastEnd === 'TASK_KILLED');

/** Each deploy of a RUN_ONCE request has one run, whatever came after it: two in a row mean two runs side by side. */
const isRunOfDeploy = ({ requestType }: Request, { pendingType }: PendingRequest): boolean =>
  requestType === 'RUN_ONCE' && (pendingType === 'NEW_DEPLOY' || pendingType === 'RETRY');

/** Number of tasks of one of its deploys that a request should have now. */
function expectedInstances({ request, pendingDeploy }: WaitingRequest, deployId: string): number {
  const instances = instancesOf(request);
  const progress = pendingDeploy?.progress;
  if (!pendingDeploy || !progress) return instances;
  if (pendingDeploy.deployId === deployId) return progress.targetActiveInstances;
  const taken = takenOver(progress);
  if (taken === 0) return instances;
  // The deploy may carry another number of instances: the old tasks make up what it has not taken over of that.
  return Math.max(0, Math.min(instances, instancesOf(pendingDeploy.updatedRequest ?? request) - taken));
}

/** Number of instances that the deploy in progress runs in place of the old one. */
function takenOver(progress: DeployProgress): number {
  // What it takes over ends before its tasks start, and does not come back meanwhile.
  if (progress.maxUnavailable !== undefined) return progress.targetActiveInstances;
  // All at once, and then the old ones go together.
  if (progress.canary === false) return 0;
  // Until a step is complete the old deploy keeps what that step will take over, and gets back what it gives back.
  const { stepComplete, targetActiveInstances: target, currentActiveInstances: current } = progress;
  return stepComplete ? target : Math.min(current, target);
}

/** The deploy is about to end: its tasks may still be the only ones with traffic, so none begins and none is ended. */
const isGivenUp = ({ pendingDeploy }: WaitingRequest, deployId: string): boolean =>
  pendingDeploy?.deployId === deployId && (pendingDeploy.state === 'CANCELED' || pendingDeploy.state === 'CANCELING');

import {
  finishDeploy,
  firstProgress,
  nextDeployStep,
  type DeployOutcome,
  type DeploySettings,
  type DeployStep,
  type DeploySnapshot,
} from '../deploys/index.js';
import { leastMillis } from '../gates/index.js';
import type { Deploy, DeployMarker } from '../model/deploy.js';
import type { DeployGate, GateRow } from '../model/gate.js';
import { isLongRunning, type PendingType, type RequestState } from '../model/enums.js';
import { instancesOf, type Request } from '../model/request.js';
import type { PendingRequest, PendingTask, TaskId } from '../model/task.js';
import { drain, type WaitingRequest, type WorkRules } from '../pending-work/index.js';
import { changesWork } from '../requests/changes.js';
import { makeTaskId } from '../task-id.js';
import { asActive, type PlannedStep, type PlannedStop, type PlanTask } from './fit.js';

/** A deploy that has not been started yet, and what it would find. */
export interface DeployToPlan {
  /** As stored. */
  request: Request;
  /** As it would be when the deploy has begun. */
  state: RequestState;
  scheduleSince?: number;
  updatedRequest?: Request;
  deploy: Deploy;
  activeDeployId?: string;
  activeDeploy?: Deploy;
  /** Active tasks of the request. */
  tasks: readonly PlanTask[];
  /** Pending tasks of the request, of whatever deploy. */
  pendingTaskCount: number;
  settings: DeploySettings;
  rules: WorkRules;
}

/**
 * The steps of a deploy whose tasks all become healthy: it is carried out in memory, by the code that carries out real
 * ones. A load balancer is taken to agree to everything. One look at a time, so that the caller can let others have
 * their turn.
 */
export function* planDeploy(planned: DeployToPlan, now: number): Generator<undefined, PlannedStep[], undefined> {
  const rollout = new Rollout(planned, now);
  rollout.begin();
  // A deploy that waits for something no plan can know, such as an external check, may wait indefinitely.
  let checks = checksPerInstance * (instancesOf(planned.updatedRequest ?? planned.request) + 1);
  while (checks-- > 0 && rollout.advance()) yield;
  return rollout.steps;
}

/** Far more than a step with ten gates needs. */
const checksPerInstance = 20;

/**
 * A plan is optimistic about everything that it cannot know: no load balancer refuses, and no external check rejects a
 * step.
 */
const everybodyAgrees = { state: 'WAITING' as const, hasLoadBalancer: false, acceptanceChecks: [] };

const balancedNowhere = <R extends Request | undefined>(request: R): R =>
  request && { ...request, loadBalanced: undefined };

class Rollout {
  readonly steps: PlannedStep[] = [];
  private view: DeploySnapshot;
  private tasks: readonly PlanTask[];
  private readonly marker: DeployMarker;

  constructor(
    private readonly planned: DeployToPlan,
    private now: number,
  ) {
    const { deploy, state, settings, activeDeployId, activeDeploy } = planned;
    const request = balancedNowhere(planned.request);
    const updatedRequest = balancedNowhere(planned.updatedRequest);
    const effective = updatedRequest ?? request;
    this.marker = { requestId: request.id, deployId: deploy.id, timestamp: now };
    this.tasks = planned.tasks;
    this.view = {
      ...everybodyAgrees,
      request,
      requestState: state,
      updatedRequest,
      marker: this.marker,
      deploy,
      progress: firstProgress(effective, deploy, settings, now),
      activeDeployId: isLongRunning(effective.requestType) ? activeDeployId : deploy.id,
      activeDeploy,
      tasks: planned.tasks,
      queuedTasks: 0,
      settings,
    };
  }

  /** A deploy that is accepted while its request stays paused starts no task; another one may end old tasks first. */
  begin(): void {
    const { progress, requestState } = this.view;
    if (progress && progress.maxUnavailable === undefined && requestState !== 'PAUSED') this.launch('NEW_DEPLOY');
  }

  /** One look at the deploy. false: there is nothing more to see. */
  advance(): boolean {
    const step = nextDeployStep({ ...this.view, tasks: this.tasks }, this.now);
    if (step.kind === 'finish') this.finish(step.outcome);
    if (step.kind === 'proceed') this.proceed(step);
    if (step.kind === 'gate') this.passGate(step.row);
    return step.kind === 'proceed' || step.kind === 'gate' || (step.kind === 'wait' && this.wait(step));
  }

  /** Every gate passes as soon as it can. */
  private passGate(row: GateRow): void {
    const { type, message } = this.gates[row.gate - 1]!;
    const least = leastMillis(this.gates[row.gate - 1]!);
    const step = this.current();
    step.gates = [...(step.gates ?? []), { gate: row.gate, type, leastMillis: least, message }];
    this.now += least;
    this.view = { ...this.view, gates: [...(this.view.gates ?? []), { ...row, state: 'PASSED' }] };
  }

  private get gates(): readonly DeployGate[] {
    return this.planned.deploy.canaryDeploySettings?.gates ?? [];
  }

  private proceed({ progress, retire, schedule, checkAgainAt }: Extract<DeployStep, { kind: 'proceed' }>): void {
    this.view = { ...this.view, progress, updateTargetInstances: undefined };
    const ordered = new Map(this.tasks.map(({ taskId, cleanup }) => [taskId.id, cleanup]));
    this.stop(retire.map((taskId) => ({ taskId, cleanupType: ordered.get(taskId.id) ?? 'DEPLOY_STEP_FINISHED' })));
    if (schedule.includes('NEW')) this.launch('NEXT_DEPLOY_STEP');
    if (checkAgainAt !== undefined) this.letPass(checkAgainAt);
  }

  /** Tasks start, time passes, or an operator says the word. */
  private wait({ checkAgainAt, scheduleMissing }: Extract<DeployStep, { kind: 'wait' }>): boolean {
    const { progress, updateTargetInstances } = this.view;
    if (scheduleMissing && progress?.maxUnavailable !== undefined) {
      const before = this.tasks.length;
      this.launch('NEXT_DEPLOY_STEP');
      return this.tasks.length > before;
    }
    if (checkAgainAt !== undefined && checkAgainAt > this.now) {
      this.letPass(checkAgainAt);
      return true;
    }
    if (!progress || updateTargetInstances !== undefined) return false;
    const asked = progress.targetActiveInstances + progress.deployInstanceCountPerStep;
    this.view = { ...this.view, updateTargetInstances: asked };
    this.current().waitsForUpdate = true;
    return true;
  }

  /** Looks are due a millisecond after the time they wait for. */
  private letPass(until: number): void {
    if (until - 1 > this.now) this.current().waitMillis = until - 1 - this.now;
    this.now = until;
  }

  private finish(outcome: DeployOutcome): void {
    // Its tasks are healthy: if it ends otherwise, it is for something that no plan can know.
    if (outcome.deployState !== 'SUCCEEDED') return;
    const { pendingTaskCount } = this.planned;
    // The id of a run that is only planned is never shown.
    const around = { pendingTaskCount, newRunId: () => '' };
    const { cleanups, pendingRequests, request } = finishDeploy(
      { ...this.view, tasks: this.tasks },
      outcome,
      around,
      this.now,
    );
    const waiting = request && {
      ...request,
      request: request.document,
      // A new rule starts with the deploy that brings it.
      scheduleSince: changesWork(this.planned.request, request.document) ? undefined : this.planned.scheduleSince,
    };
    for (const entry of pendingRequests) this.schedule(waiting, entry);
    this.stop(cleanups);
  }

  private launch(pendingType: PendingType): void {
    const { request, requestState, updatedRequest, activeDeployId, progress } = this.view;
    const { requestId, deployId } = this.marker;
    const pendingDeploy = { deployId, state: 'WAITING', progress, updatedRequest } as const;
    const waiting = { request: request!, state: requestState as RequestState, activeDeployId, pendingDeploy };
    this.schedule(waiting, { requestId, deployId, timestamp: this.now, pendingType });
  }

  /** Adds the decision of the queue about an entry. */
  private schedule(request: WaitingRequest | undefined, entry: PendingRequest): void {
    const { create, cleanups } = drain(
      {
        request,
        deployId: entry.deployId,
        entries: [entry],
        tasks: this.tasks.map(asActive),
        pendingTaskIds: new Set(),
        runWaits: false,
        failingFast: false,
      },
      this.planned.rules,
      this.now,
    );
    if (create.length > 0) this.steps.push({ start: create, stop: [] });
    this.stop(cleanups);
    this.tasks = [...this.tasks, ...create.map(healthyTask)];
  }

  private stop(stops: readonly PlannedStop[]): void {
    if (stops.length === 0) return;
    this.current().stop.push(...stops.map(({ taskId, cleanupType }) => ({ taskId, cleanupType })));
    const gone = new Set(stops.map(({ taskId }) => taskId.id));
    this.tasks = this.tasks.filter(({ taskId }) => !gone.has(taskId.id));
  }

  private current(): PlannedStep {
    if (this.steps.length === 0) this.steps.push({ start: [], stop: [] });
    return this.steps.at(-1)!;
  }
}

/** As good as a task can be: it has run long enough, and its last check passed. */
function healthyTask({ pendingTaskId }: PendingTask): PlanTask {
  const { requestId, deployId, instanceNo, createdAt } = pendingTaskId;
  const place = { slaveId: '', rackId: '' };
  const taskId: TaskId = makeTaskId({ requestId, deployId, instanceNo, startedAt: createdAt, host: '', rackId: '' });
  return {
    taskId,
    ...place,
    state: 'TASK_RUNNING',
    runningAt: 0,
    launchedWithSkip: false,
    skippedByRequest: false,
    lastResult: { taskId, timestamp: createdAt, startup: false, statusCode: 200 },
    checksCounted: 1,
    killed: false,
  };
}

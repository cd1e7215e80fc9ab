import { Injectable } from '@nestjs/common';
import type { User } from '../../core/authorization/index.js';
import { lookAtFirst } from '../../core/deploys/index.js';
import { neverFollows } from '../../core/flows/index.js';
import { sickTaskText } from '../../core/health/index.js';
import { deployKeyText, type DeployHistory } from '../../core/model/deploy.js';
import type { Request, RequestCleanup } from '../../core/model/request.js';
import type { PendingRequest, PendingTask } from '../../core/model/task.js';
import { isRunnable, type RequestState, turnTypes } from '../../core/model/enums.js';
import { startsLeft, waitsForPromises, waitsForRuns } from '../../core/pending-work/index.js';
import { type Explanation, explainPending, explanationText, neverFits } from '../../core/placement/index.js';
import { nextStart } from '../../core/restarts/index.js';
import {
  closedWindows,
  closedWindowsText,
  nextTimes,
  plansAhead,
  timeIn,
  type TimeInZone,
  zoneOf,
} from '../../core/schedules/index.js';
import type { HeldRequest } from '../../core/working-set/index.js';
import { parsePendingTaskId } from '../../core/task-id.js';
import { autoscaleStatus } from '../../modules/requests/autoscale/autoscale-status.js';
import { Access } from '../../modules/auth/access/access.service.js';
import type { UnansweredLaunch } from '../../modules/tasks/task-launch.repository.js';
import type { StartingTask } from '../../modules/tasks/task-status.repository.js';
import { saysOf, type SickTaskRow } from '../../modules/tasks/health/task-liveness.repository.js';
import { Rows } from '../../rows.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { ListPage, type KeysetPage } from '../../platform/database/keyset.js';
import { SchedulerError } from '../../platform/errors.js';
import type {
  FailedDeployDto,
  FailedInstanceDto,
  QueuedEntryDto,
  RequestExplanationDto,
  StartingTaskDto,
  TaskExplanationDto,
  UnansweredLaunchDto,
  UnhealthyTaskDto,
} from './dto/explanation.dto.js';
import { type NotedReason, WaitingReasonRepository } from './waiting-reason.repository.js';
import { WaitingGates } from './waiting-gates.service.js';
import { ExplainLoader, type ExplainData } from './explain-loader.service.js';

/** Says why tasks are not running. Works on every instance. */
@Injectable()
export class ExplainService {
  constructor(
    private readonly db: Database,
    private readonly loader: ExplainLoader,
    private readonly rows: Rows,
    private readonly noted: WaitingReasonRepository,
    private readonly access: Access,
    private readonly gates: WaitingGates,
    private readonly clock: Clock,
  ) {}

  /** Of all tasks that are due and wait, as the leader noted them. */
  async reasons(user: User, page: KeysetPage | undefined): Promise<NotedReason[] | ListPage<NotedReason>> {
    if (!page) return this.noted.list(this.db.pool);
    const found = await this.noted.list(this.db.pool, { page, sight: this.access.sightOf(user) });
    return ListPage.of(found, page.limit, ({ pendingTaskId }) => pendingTaskId.id);
  }

  async task(id: string, user: User): Promise<TaskExplanationDto> {
    const data = await this.loader.load(parsePendingTaskId(id)!.requestId);
    const pending = data.loaded.pendingTasks.find((task) => task.pendingTaskId.id === id);
    if (!pending) throw new SchedulerError('PENDING_TASK_NOT_FOUND', `No pending task with id '${id}'`);
    const explained = this.explain(pending, data);
    return { ...explained, ...(await this.heldBy([explained], data, user)) };
  }

  async request(id: string, user: User): Promise<RequestExplanationDto> {
    const [data, queued, [newest], orders, sick, autoscales, programs, groups, waitingFlowRuns, unanswered, starting] =
      await Promise.all([
        this.loader.load(id),
        this.rows.pendingRequests.list(this.db.pool, id),
        this.rows.deployHistory.list(this.db.pool, id, { count: 1, offset: 0 }),
        this.rows.requestCleanups.find(this.db.pool, id),
        this.rows.taskLiveness.sickOf(this.db.pool, id),
        this.rows.autoscales.find(this.db.pool, [id]),
        this.rows.taskPrograms.notable(this.db.pool, id),
        this.rows.requestGroups.withWindows(this.db.pool, id),
        this.rows.flowRuns.waitingCount(this.db.pool, id),
        this.rows.taskLaunches.unansweredOf(this.db.pool, id, unansweredShown),
        this.rows.taskStatuses.startingOf(this.db.pool, id, startingShown),
      ]);
    const { request, startedRuns, tasks, pendingTasks } = data.loaded;
    if (!request) throw SchedulerError.requestNotFound(id);
    const ordered = pendingTasks.toSorted(
      ({ pendingTaskId: a }, { pendingTaskId: b }) => a.nextRunAt - b.nextRunAt || (a.id < b.id ? -1 : 1),
    );
    const explained = ordered.map((pending) => this.explain(pending, data));
    const [failed, waitingGate, flowObstacle, pausedFor] = await Promise.all([
      this.failedInstances(request),
      this.gates.waiting(request),
      this.flowObstacle(request.request),
      request.state === 'PAUSED' ? this.reasonOfPause(id) : undefined,
    ]);
    const autoscale = autoscaleStatus(request.request, autoscales.get(id));
    const closed = closedWindows(request.request, request.scheduleSince, groups, this.clock.now());
    const gateFailed = newest !== undefined && (await this.gates.hasFailed(newest));
    return {
      requestId: id,
      state: request.state,
      message: awaitedRuns(orders, tasks.length) ?? obstacle(request, pausedFor) ?? flowObstacle,
      nextRuns: nextRunsOf(request, startedRuns, this.clock.now()),
      activeTasks: tasks.length,
      pendingTasks: explained,
      ...(await this.heldBy(explained, data, user)),
      queued: queued.map((entry) => queuedEntry(entry, queued, data)),
      failedDeploy: newest && failedDeploy(newest, gateFailed),
      ...(waitingFlowRuns > 0 && { waitingFlowRuns }),
      ...(waitingGate && { waitingGate }),
      ...(closed && { closedDeployWindows: { ...closed, message: closedWindowsText(id, closed) } }),
      ...(unanswered.length > 0 && { unansweredLaunches: unanswered.map(unansweredLaunch) }),
      ...(starting.length > 0 && { startingTasks: starting.map(startingTask) }),
      ...(sick.length > 0 && { unhealthyTasks: sick.map(unhealthyTask) }),
      ...(programs.length > 0 && { programs: programs.map(({ taskId, program }) => ({ taskId, ...program })) }),
      ...(failed.length > 0 && { failedInstances: failed }),
      ...(autoscale && { autoscale }),
    };
  }

  /** A follower whose runs never come, whatever its parents do. */
  private async flowObstacle(request: Request): Promise<string | undefined> {
    const ids = (request.after ?? []).map(({ requestId }) => requestId);
    if (ids.length === 0) return undefined;
    const [known, edges] = await Promise.all([
      this.rows.flowGraph.parents(this.db.pool, ids, request.id),
      this.rows.flowGraph.above(this.db.pool, ids),
    ]);
    return neverFollows(request, known, edges);
  }

  private async reasonOfPause(id: string): Promise<string | undefined> {
    const newest = await this.rows.requestHistory.list(this.db.pool, id, { count: eventsSeen, offset: 0 });
    return newest.find(({ change }) => change.eventType === 'PAUSED')?.change.message;
  }

  /** Runs that hold the concurrency group for which some of these wait, of requests that the caller may read. */
  private async heldBy(
    explained: readonly TaskExplanationDto[],
    { loaded }: ExplainData,
    user: User,
  ): Promise<{ heldBy?: string[] }> {
    const name = loaded.request?.request.concurrencyGroup?.name;
    if (name === undefined || !explained.some(({ reason }) => reason === 'CONCURRENCY_GROUP')) return {};
    const sight = this.access.sightOf(user);
    return { heldBy: await this.rows.concurrencyGroups.holders(this.db.pool, name, sight, holdersShown) };
  }

  private async failedInstances({ request, activeDeployId }: HeldRequest): Promise<FailedInstanceDto[]> {
    const { restart } = request;
    if (!restart || activeDeployId === undefined) return [];
    const key = { requestId: request.id, deployId: activeDeployId };
    const failures = (await this.rows.instanceFailures.find(this.db.pool, [key])).get(deployKeyText(key));
    return [...(failures ?? [])].map(([instanceNo, failed]) => {
      const start = nextStart(restart, failed, this.clock.now());
      return {
        instanceNo,
        failures: failed.count,
        lastFailureAt: failed.lastAt,
        nextStartAt: start.kind === 'at' ? start.at : undefined,
        givenUp: start.kind === 'givenUp',
      };
    });
  }

  private explain(pending: PendingTask, { snapshot, rules, found, loaded }: ExplainData): TaskExplanationDto {
    const byRows = explainPending(pending, snapshot, rules, this.clock.now());
    const { pendingTaskId } = pending;
    const noted = byRows.reason === 'PLACEABLE' ? found.get(pendingTaskId.id) : undefined;
    if (noted) return { pendingTaskId, ...noted, neverFits: false };
    const message = explanationText(byRows) + dueText(pending, byRows, loaded.request?.request);
    return { pendingTaskId, ...byRows, message, neverFits: neverFits(byRows) };
  }
}

/** Times of a schedule in an answer. */
const timesShown = 5;
/** Newest events of a request among which its pause is looked for. */
const eventsSeen = 20;
/** Launches without an answer in an answer. */
const unansweredShown = 100;
/** Tasks that do not run yet in an answer. */
const startingShown = 100;
/** Tasks of a concurrency group in an answer. */
const holdersShown = 100;

const nextRunsOf = (
  { request, state, scheduleSince }: HeldRequest,
  startedRuns: number | undefined,
  now: number,
): TimeInZone[] | undefined =>
  request.requestType === 'SCHEDULED' && isRunnable(state)
    ? nextTimes(request, scheduleSince, now, Math.min(timesShown, startsLeft({ request, startedRuns })))
    : undefined;

const states: Partial<Record<RequestState, string>> = {
  PAUSED: 'It is paused: nothing of it runs before it is unpaused',
  DELETING: 'It is being deleted',
  FINISHED: 'It is finished: its schedule has no further time, or its only run has ended',
};

/** A removal may let runs end first. */
const awaitedRuns = (orders: readonly RequestCleanup[], active: number): string | undefined =>
  active > 0 && orders.some(({ waitForTasks }) => waitForTasks)
    ? `It is being deleted: that waits for its active runs to end (${active}), and nothing new starts`
    : undefined;

/** Obstacle that keeps all of a request from running. `pausedFor`: reason of its pause. */
function obstacle({ state, activeDeployId, pendingDeploy }: HeldRequest, pausedFor?: string): string | undefined {
  const hasDeploy = activeDeployId !== undefined || pendingDeploy !== undefined;
  const reason = pausedFor === undefined ? '' : `. Reason of the pause: ${pausedFor}`;
  const stands = states[state];
  return (
    (stands && stands + reason) ??
    (hasDeploy ? undefined : 'It has no deploy: nothing of it runs before POST /api/deploys has started one')
  );
}

/** Time at which it becomes due, if it is not yet. */
function dueText({ pendingTaskId }: PendingTask, { reason }: Explanation, request: Request | undefined): string {
  if (reason !== 'NOT_DUE' && reason !== 'COOLDOWN') return '';
  const { utc, local, timeZone } = timeIn(request ? zoneOf(request) : 'UTC', pendingTaskId.nextRunAt);
  return timeZone === 'UTC' ? `: it is due at ${utc}` : `: it is due at ${utc}, which is ${local} in ${timeZone}`;
}

function unansweredLaunch({ taskId, slaveId, launchedAt, reason }: UnansweredLaunch): UnansweredLaunchDto {
  const message = `Slave '${slaveId}' has not answered its launch, which is sent again until it does: ${reason}`;
  return { taskId, launchedAt, message };
}

function startingTask({ slaveId, isSilent, message = '', ...task }: StartingTask): StartingTaskDto {
  const silent = `Slave '${slaveId}' does not answer: it has to come back, or its tasks are replaced after a time`;
  return { ...task, message: isSilent ? silent : message };
}

function unhealthyTask({ taskId, sickSince, failures, waitsFor, waitsUntil, ...last }: SickTaskRow): UnhealthyTaskDto {
  const decided = waitsFor ? `it is not replaced: ${sickTaskText[waitsFor]}` : 'its replacement is about to be decided';
  const until = waitsUntil === undefined ? '' : `, until ${timeIn('UTC', waitsUntil).utc}`;
  const message = `It failed ${failures} liveness checks in a row (${saysOf(last)}); ${decided}${until}`;
  return { taskId, since: sickSince, waitsFor, waitsUntil, message };
}

function failedDeploy(
  { deployMarker: { deployId }, deployResult }: DeployHistory,
  gateFailed: boolean,
): FailedDeployDto | undefined {
  const place = deployResult && lookAtFirst(deployResult, gateFailed);
  if (!place) return undefined;
  const { deployState, message, deployFailures } = deployResult;
  const taskId = deployFailures.find((failure) => failure.taskId !== undefined)?.taskId;
  return { deployId, deployState, message, taskId, lookAtFirst: `Look first at ${place}` };
}

function queuedEntry(
  entry: PendingRequest,
  queued: readonly PendingRequest[],
  { loaded }: ExplainData,
): QueuedEntryDto {
  const { deployId, pendingType, timestamp } = entry;
  const { state, request } = loaded.request!;
  const waits = (): string => {
    if (!isRunnable(state)) return `The request is ${state}; the entry is about to be removed`;
    const isJob = request.requestType === 'SCHEDULED' && !plansAhead(request);
    if (isJob && waitsForRuns(entry, loaded.tasks)) return 'A run is active; the next one is planned when it ends';
    const entries = queued.filter((each) => each.deployId === deployId);
    const waiting = loaded.pendingTasks.map(({ pendingTaskId }) => pendingTaskId);
    const runWaits = waiting.some((id) => id.deployId === deployId && turnTypes.includes(id.pendingType));
    return isJob && waitsForPromises(entry, { runWaits, entries })
      ? 'A run that was asked for waits; the next one is planned when it ends'
      : 'It is looked at in the next round';
  };
  return { deployId, pendingType, timestamp, message: waits() };
}

import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { groupBy } from '../../core/group-by.js';
import type { PendingTask, TaskCleanup } from '../../core/model/task.js';
import type { DeployCounts } from '../../core/completion/index.js';
import { type DeployKey, deployKeyText } from '../../core/model/deploy.js';
import type { RequestType } from '../../core/model/enums.js';
import { drain, isPlannedTooFar, type WaitingRequest, type WorkRules } from '../../core/pending-work/index.js';
import type { StoredPendingDeploy } from '../../modules/deploys/deploy.repository.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { InstanceFailureRepository } from '../../modules/tasks/instance-failure.repository.js';
import { SlaveRepository } from '../../modules/slaves/slave.repository.js';
import type { QueueEntry } from '../../modules/tasks/pending-request.repository.js';
import type { PlannedRun } from '../../modules/tasks/planned-run.repository.js';
import type { LiveTask } from '../../modules/tasks/task.repository.js';
import { inParallel } from '../../platform/async.js';
import { byHalves } from '../../platform/database/by-halves.js';
import { concernsAll, isLockTimeout } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import { commitLazily } from '../../platform/database/commit-lazily.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { workRules } from '../rules.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { DrainedStates } from './drained-states.service.js';
import { isPlannedAhead, RunPlanning, type RunsWork } from './run-planning.service.js';

/** Requests drained in one transaction: enough to pay the commit for many, few enough that the API waits briefly. */
const requestsPerTransaction = 200;
/** While the database works for one, the next one is decided. They share no request. */
const transactionsAtOnce = 2;

/** Effects of a transaction, for after its commit. */
interface DrainResult {
  cleanups: number;
  /** Some entries wait for what was just decided to take effect. */
  again: boolean;
  /** Requests that other transactions held. */
  held: readonly string[];
}

/**
 * Free rows of requests are locked first. The others are waited for in their queues: calls on one request may follow
 * each other so closely that its row is never seen free.
 */
type RowLock = 'free' | 'inTurn';

/** Decisions about the requests of a transaction, written together at its end. */
interface Writes {
  /** Rows of entries that are done with. */
  done: number[];
  /** Deploys whose pending tasks make place for `create`. */
  replaced: DeployKey[];
  create: PendingTask[];
  cleanups: TaskCleanup[];
  /** Deploys whose instances begin anew. */
  begunAnew: DeployKey[];
}

/** All that is waiting for one request. */
interface WaitingWork {
  requestId: string;
  stored: StoredRequest | undefined;
  entries: readonly QueueEntry[];
  tasks: readonly LiveTask[];
  pendingDeploy: StoredPendingDeploy | undefined;
  pendingTaskIds: ReadonlySet<string>;
  /** Deploys under which a promised run of a job waits. */
  withRuns: ReadonlySet<string>;
  /** Other requests follow it. */
  isFollowed: boolean;
  /** Counts of the deploys of RUN_ONCE requests, by deployKeyText. */
  runOnceCounts: ReadonlyMap<string, DeployCounts>;
  /** Failures in a row of instances, of requests with a policy for restarts, by deployKeyText. */
  failures: Awaited<ReturnType<InstanceFailureRepository['find']>>;
}

/** Turns the entries of the pending queue into pending tasks. */
@Injectable()
export class DrainService {
  private readonly log = new Logger(DrainService.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly wake: Wake,
    private readonly states: DrainedStates,
    private readonly planning: RunPlanning,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * One look at the whole queue, and at requests whose times are planned ahead and have come. Requests that another transaction
   * holds come last, in their turn; answers whether some were not to be had even so, and wait for the next look.
   */
  async runOnce(now: number): Promise<boolean> {
    const [hasUnwanted, waiting, toPlan] = await Promise.all([
      this.rows.pendingTasks.hasUnwanted(this.db.leaderPool),
      this.rows.pendingRequests.waitingRequestIds(this.db.leaderPool),
      this.rows.requestTimings.due(this.db.leaderPool, now),
    ]);
    if (hasUnwanted) await this.db.leaderTransaction((tx) => this.rows.pendingTasks.removeUnwanted(tx));
    const held = await this.drainAll([...new Set([...waiting, ...toPlan])], 'free', now);
    return (await this.drainAll(held, 'inTurn', now)).length > 0;
  }

  /** When the times of a request are to be looked at next, after this pass. */
  nextLook(now: number): Promise<number | undefined> {
    return this.rows.requestTimings.nextLook(this.db.leaderPool, now);
  }

  /** Next runs of schedules that were planned when the clock was ahead of where it is now, by their ids. */
  async misplanned(now: number): Promise<string[]> {
    const { cooldownMinScheduleMillis } = workRules(this.settings, []);
    const isMisplanned = ({ id, ...request }: PlannedRun): boolean => {
      try {
        return isPlannedTooFar(id, request, cooldownMinScheduleMillis, now);
      } catch (cause) {
        this.log.error(`The next run of request '${id.requestId}' could not be planned again: ${String(cause)}`);
        return false;
      }
    };
    const found = (await this.rows.plannedRuns.scheduledAfter(this.db.pool, now)).filter(isMisplanned);
    if (found.length > 0) this.log.warn(`${found.length} runs had been planned by a fast clock, and are planned again`);
    return found.map(({ id }) => id.id);
  }

  /** Answers those that were held by another transaction. */
  private async drainAll(requestIds: readonly string[], lock: RowLock, now: number): Promise<readonly string[]> {
    const batches = Array.from({ length: Math.ceil(requestIds.length / requestsPerTransaction) }, (_, index) =>
      requestIds.slice(index * requestsPerTransaction, (index + 1) * requestsPerTransaction),
    );
    let hasFailed = false;
    const drainOne = async (ids: readonly string[]): Promise<readonly string[]> => {
      try {
        return await this.drainTogether(ids, lock, now);
      } catch (cause) {
        hasFailed = true;
        throw cause;
      }
    };
    // After a failure none is begun; the one that is under way ends within this pass.
    const held = await inParallel(batches, transactionsAtOnce, drainOne, { isEnough: () => hasFailed });
    return held.flatMap((ids) => ids ?? []);
  }

  private async drainTogether(requestIds: readonly string[], lock: RowLock, now: number): Promise<readonly string[]> {
    const held: string[] = [];
    await byHalves(requestIds, {
      work: async (ids) => {
        const drained = await this.db.leaderTransaction((tx) => this.drainIn(tx, ids, lock, now));
        if (drained.cleanups > 0) this.wake.signalOf(ids, 'cleanup');
        if (drained.again) this.wake.signal('scheduler');
        held.push(...drained.held);
      },
      isAboutItems: (cause) => !concernsAll(cause),
      alone: (id, cause) => {
        if (isLockTimeout(cause)) held.push(id);
        else tellFailure(this.log, `The queue of request '${id}' is stuck`, cause);
      },
    });
    return held;
  }

  private async drainIn(
    tx: Transaction,
    requestIds: readonly string[],
    lock: RowLock,
    now: number,
  ): Promise<DrainResult> {
    const [, locked] = await Promise.all([
      commitLazily(tx),
      lock === 'free' ? this.rows.requests.lockFree(tx, requestIds) : this.rows.requests.lockInTurn(tx, requestIds),
    ]);
    const held = new Map(locked.map((stored) => [stored.request.id, stored]));
    const missing = requestIds.filter((id) => !held.has(id));
    const busy = new Set((await this.findMissing(tx, missing)).map((stored) => stored.request.id));
    const free = requestIds.filter((id) => !busy.has(id));
    const ofType = (type: RequestType) => free.filter((id) => held.get(id)?.request.requestType === type);
    const deploying = free.filter((id) => held.get(id)?.pendingDeployId !== undefined);
    const [onDemand, scheduled, once] = [ofType('ON_DEMAND'), ofType('SCHEDULED'), ofType('RUN_ONCE')];
    const jobs = [...onDemand, ...scheduled, ...once];
    const ahead = scheduled.filter((id) => isPlannedAhead(held.get(id)));
    const [queued, live, pendingDeploys, pendingTaskIds, withRuns, waiting, followed, slaves] = await Promise.all([
      this.rows.pendingRequests.lockOf(tx, free),
      this.rows.tasks.find(tx, { requestIds: free }),
      deploying.length > 0 ? this.rows.deploys.findPending(tx, deploying) : [],
      onDemand.length + scheduled.length > 0
        ? this.rows.pendingTasks.takenIds(tx, [...onDemand, ...scheduled])
        : new Set<string>(),
      scheduled.length > 0 ? this.rows.pendingTasks.withPromisedRuns(tx, scheduled) : [],
      ahead.length > 0 ? this.rows.pendingTasks.wanted(tx, ahead) : [],
      jobs.length > 0 ? this.rows.flowGraph.followed(tx, jobs) : new Set<string>(),
      this.slavesFor(tx, [...held.values()]),
    ]);
    const entries = groupBy(queued, ({ entry }) => entry.requestId);
    const tasks = groupBy(live, (task) => task.taskId.requestId);
    const pendingTasks = groupBy(waiting, (task) => task.pendingTaskId.requestId);
    const runOnce = once.flatMap((id) => (entries.get(id) ?? []).map(({ entry }) => entry));
    const restarted = queued.filter(({ entry }) => held.get(entry.requestId)?.request.restart);
    const [runOnceCounts, failures] = await Promise.all([
      this.rows.deployStatistics.find(tx, runOnce),
      this.rows.instanceFailures.find(
        tx,
        restarted.map(({ entry }) => entry),
      ),
    ]);
    const rules = workRules(this.settings, slaves);
    const writes: Writes = { done: [], replaced: [], create: [], cleanups: [], begunAnew: [] };
    const toPlan: RunsWork[] = [];
    let again = false;
    for (const requestId of free) {
      const stored = held.get(requestId);
      if (isPlannedAhead(stored)) {
        const own = entries.get(requestId) ?? [];
        writes.done.push(...own.map(({ id }) => id));
        toPlan.push({
          stored,
          entries: own.map(({ entry }) => entry),
          tasks: tasks.get(requestId) ?? [],
          pendingTasks: pendingTasks.get(requestId) ?? [],
          isFollowed: followed.has(requestId),
        });
        continue;
      }
      const work: WaitingWork = {
        requestId,
        stored,
        entries: entries.get(requestId) ?? [],
        tasks: tasks.get(requestId) ?? [],
        pendingDeploy: pendingDeploys.find((pending) => pending.requestId === requestId),
        pendingTaskIds,
        withRuns: new Set(withRuns.map(deployKeyText)),
        isFollowed: followed.has(requestId),
        runOnceCounts,
        failures,
      };
      again = (await this.drainRequest(tx, work, rules, writes, now)) || again;
    }
    const [replaced] = await Promise.all([
      this.planning.plan(tx, toPlan, now),
      this.rows.pendingRequests.remove(tx, writes.done),
      // One after the other, as streams are told of them.
      this.rows.pendingTasks
        .removeOfDeploys(tx, writes.replaced)
        .then(() => this.rows.pendingTasks.insert(tx, writes.create)),
      this.rows.taskCleanups.createAll(tx, writes.cleanups),
      this.rows.instanceFailures.forget(tx, writes.begunAnew),
    ]);
    return { cleanups: writes.cleanups.length + replaced, again, held: [...busy] };
  }

  private findMissing(tx: Transaction, ids: readonly string[]): Promise<StoredRequest[]> {
    return ids.length > 0 ? this.rows.requests.findMany(tx, ids) : Promise.resolve([]);
  }

  /** Machines matter only to requests that are spread over racks or attributes. */
  private slavesFor(tx: Transaction, requests: readonly StoredRequest[]): ReturnType<SlaveRepository['list']> {
    const spreads = requests.some(({ request }) => request.rackSensitive || request.slaveAttributeMinimums);
    return spreads ? this.rows.slaves.list(tx) : Promise.resolve([]);
  }

  /**
   * Each deploy of the request on its own; what the first changes of the request, the next one sees. Answers whether some
   * entries wait for what was decided to take effect.
   */
  private async drainRequest(
    tx: Transaction,
    work: WaitingWork,
    rules: WorkRules,
    writes: Writes,
    now: number,
  ): Promise<boolean> {
    let { stored } = work;
    let again = false;
    for (const [deployId, entries] of groupBy(work.entries, ({ entry }) => entry.deployId)) {
      const key = deployKeyText({ requestId: work.requestId, deployId });
      const decision = drain(
        {
          request: stored && waitingRequest(stored, work.pendingDeploy),
          deployId,
          entries: entries.map(({ entry }) => entry),
          tasks: work.tasks,
          pendingTaskIds: work.pendingTaskIds,
          runWaits: work.withRuns.has(key),
          newFlowId: work.isFollowed ? randomUUID : undefined,
          failingFast: await this.states.isFailingFast(tx, stored, deployId, now),
          failures: work.failures.get(key),
          lastEnd: work.runOnceCounts.get(key)?.lastTaskState,
        },
        rules,
        now,
      );
      const done = entries.filter((_, index) => !['hold', 'later'].includes(decision.outcomes[index]!.kind));
      writes.done.push(...done.map(({ id }) => id));
      if (decision.forgetsFailures) writes.begunAnew.push({ requestId: work.requestId, deployId });
      if (decision.replacesPendingTasks) writes.replaced.push({ requestId: work.requestId, deployId });
      writes.create.push(...decision.create);
      writes.cleanups.push(...decision.cleanups.map((cleanup) => ({ ...cleanup, timestamp: now })));
      stored = stored && (await this.states.change(tx, stored, decision, now));
      const scheduled = decision.outcomes.some(({ kind }) => kind === 'scheduled');
      again ||= scheduled && decision.outcomes.some(({ kind }) => kind === 'later');
    }
    return again;
  }
}

function waitingRequest(stored: StoredRequest, pending: StoredPendingDeploy | undefined): WaitingRequest {
  const { request, state, scheduleSince, startedRuns, activeDeployId } = stored;
  return { request, state, scheduleSince, startedRuns, activeDeployId, pendingDeploy: pending };
}

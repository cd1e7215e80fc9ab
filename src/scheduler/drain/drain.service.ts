import { Inject, Injectable, Logger } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { groupBy } from '../../core/group-by.js';
import { isFailingFast } from '../../core/cooldown/index.js';
import { drain, type WaitingRequest, type WorkDecision, type WorkRules } from '../../core/pending-work/index.js';
import { DeployStore, type StoredPendingDeploy } from '../../modules/deploys/deploy-store.service.js';
import { RequestHistoryService } from '../../modules/requests/request-history.service.js';
import { RequestStore, type StoredRequest } from '../../modules/requests/request-store.service.js';
import { Machines } from '../../modules/slaves/machines.service.js';
import { LiveTasks, type LiveTask } from '../../modules/tasks/live-tasks.service.js';
import { TaskCleanups } from '../../modules/tasks/task-cleanups.service.js';
import { Database } from '../../platform/database/database.js';
import { commitLazily } from '../commit-lazily.js';
import { NotLeaderError } from '../../platform/leadership/leadership.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { DeployCountsStore } from '../deploy-counts.service.js';
import { cooldownRules, workRules } from '../rules.js';
import { QueueStore, type QueueEntry } from './queue-store.service.js';

/** Requests drained in one transaction: enough to pay the commit for many, few enough that the API waits briefly. */
const requestsPerTransaction = 50;

/** What a transaction did, for after its commit. */
interface Drained {
  cleanups: number;
  /** Some entries wait for what was just decided to take effect. */
  again: boolean;
  /** Somebody held some of the requests. */
  held: boolean;
}

/** All that is waiting for one request. */
interface WaitingWork {
  requestId: string;
  stored: StoredRequest | undefined;
  entries: readonly QueueEntry[];
  tasks: readonly LiveTask[];
  pendingDeploy: StoredPendingDeploy | undefined;
  pendingTaskIds: ReadonlySet<string>;
}

/** Turns the entries of the pending queue into pending tasks. */
@Injectable()
export class DrainService {
  private readonly log = new Logger(DrainService.name);

  constructor(
    private readonly db: Database,
    private readonly queue: QueueStore,
    private readonly requests: RequestStore,
    private readonly history: RequestHistoryService,
    private readonly deploys: DeployStore,
    private readonly counts: DeployCountsStore,
    private readonly tasks: LiveTasks,
    private readonly cleanups: TaskCleanups,
    private readonly machines: Machines,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** One look at the whole queue. Requests that somebody holds right now wait for the next one; answers whether there are any. */
  async runOnce(now: number): Promise<boolean> {
    const [hasUnwanted, waiting] = await Promise.all([
      this.queue.hasUnwanted(this.db.manager),
      this.queue.waitingRequestIds(this.db.manager),
    ]);
    if (hasUnwanted) await this.db.leaderTransaction((tx) => this.queue.removeUnwanted(tx));
    let someAreHeld = false;
    for (let first = 0; first < waiting.length; first += requestsPerTransaction) {
      const held = await this.drainTogether(waiting.slice(first, first + requestsPerTransaction), now);
      someAreHeld ||= held;
    }
    return someAreHeld;
  }

  /** Answers whether somebody held some of them. */
  private async drainTogether(requestIds: readonly string[], now: number): Promise<boolean> {
    try {
      const { cleanups, again, held } = await this.db.leaderTransaction((tx) => this.drainIn(tx, requestIds, now));
      if (cleanups > 0) this.wake.signal('cleanup');
      if (again) this.wake.signal('scheduler');
      return held;
    } catch (cause) {
      if (cause instanceof NotLeaderError) throw cause;
      if (requestIds.length === 1) {
        this.log.error(`The queue of request '${requestIds[0]}' is stuck: ${String(cause)}`, cause);
        return false;
      }
      // The broken one must not hold up the others.
      let someAreHeld = false;
      for (const requestId of requestIds) someAreHeld = (await this.drainTogether([requestId], now)) || someAreHeld;
      return someAreHeld;
    }
  }

  private async drainIn(tx: EntityManager, requestIds: readonly string[], now: number): Promise<Drained> {
    await commitLazily(tx);
    const held = new Map((await this.requests.lockFree(tx, requestIds)).map((stored) => [stored.request.id, stored]));
    const missing = requestIds.filter((id) => !held.has(id));
    const busy = new Set((await this.findMissing(tx, missing)).map((stored) => stored.request.id));
    const free = requestIds.filter((id) => !busy.has(id));
    const entries = groupBy(await this.queue.lockEntries(tx, free), ({ entry }) => entry.requestId);
    const tasks = groupBy(await this.tasks.find(tx, { requestIds: free }), (task) => task.taskId.requestId);
    const deploying = free.filter((id) => held.get(id)?.pendingDeployId !== undefined);
    const pendingDeploys = deploying.length > 0 ? await this.deploys.findPending(tx, deploying) : [];
    const onDemand = free.filter((id) => held.get(id)?.request.requestType === 'ON_DEMAND');
    const pendingTaskIds = onDemand.length > 0 ? await this.queue.pendingTaskIds(tx, onDemand) : new Set<string>();
    const rules = workRules(this.settings, await this.slavesFor(tx, [...held.values()]));
    const drained: Drained = { cleanups: 0, again: false, held: busy.size > 0 };
    for (const requestId of free) {
      const work: WaitingWork = {
        requestId,
        stored: held.get(requestId),
        entries: entries.get(requestId) ?? [],
        tasks: tasks.get(requestId) ?? [],
        pendingDeploy: pendingDeploys.find((pending) => pending.requestId === requestId),
        pendingTaskIds,
      };
      await this.drainRequest(tx, work, rules, drained, now);
    }
    return drained;
  }

  private findMissing(tx: EntityManager, ids: readonly string[]): Promise<StoredRequest[]> {
    return ids.length > 0 ? this.requests.findMany(tx, ids) : Promise.resolve([]);
  }

  /** Machines matter only to requests that are spread over racks or attributes. */
  private slavesFor(tx: EntityManager, requests: readonly StoredRequest[]): ReturnType<Machines['list']> {
    const spreads = requests.some(({ request }) => request.rackSensitive || request.slaveAttributeMinimums);
    return spreads ? this.machines.list(tx) : Promise.resolve([]);
  }

  /** Each deploy of the request on its own; what the first changes of the request, the next one sees. */
  private async drainRequest(
    tx: EntityManager,
    work: WaitingWork,
    rules: WorkRules,
    drained: Drained,
    now: number,
  ): Promise<void> {
    let { stored } = work;
    for (const [deployId, entries] of groupBy(work.entries, ({ entry }) => entry.deployId)) {
      const decision = drain(
        {
          request: stored && waitingRequest(stored, work.pendingDeploy),
          deployId,
          entries: entries.map(({ entry }) => entry),
          tasks: work.tasks,
          pendingTaskIds: work.pendingTaskIds,
          failingFast: await this.isFailingFast(tx, stored, deployId, now),
        },
        rules,
        now,
      );
      stored = await this.apply(tx, stored, { requestId: work.requestId, deployId }, entries, decision, now);
      drained.cleanups += decision.cleanups.length;
      const scheduled = decision.outcomes.some(({ kind }) => kind === 'scheduled');
      drained.again ||= scheduled && decision.outcomes.some(({ kind }) => kind === 'later');
    }
  }

  private async isFailingFast(
    tx: EntityManager,
    stored: StoredRequest | undefined,
    deployId: string,
    now: number,
  ): Promise<boolean> {
    if (stored?.state !== 'SYSTEM_COOLDOWN') return false;
    const failures = await this.counts.failureTimes(tx, { requestId: stored.request.id, deployId });
    return isFailingFast(failures, cooldownRules(this.settings), now);
  }

  private async apply(
    tx: EntityManager,
    stored: StoredRequest | undefined,
    key: { requestId: string; deployId: string },
    entries: readonly QueueEntry[],
    decision: WorkDecision,
    now: number,
  ): Promise<StoredRequest | undefined> {
    const done = entries.filter((_, index) => !['hold', 'later'].includes(decision.outcomes[index]!.kind));
    await this.queue.removeEntries(
      tx,
      done.map(({ id }) => id),
    );
    if (decision.replacesPendingTasks) await this.queue.removePendingTasksOf(tx, [key]);
    await this.queue.insertPendingTasks(tx, decision.create);
    for (const cleanup of decision.cleanups) await this.cleanups.create(tx, { ...cleanup, timestamp: now });
    return stored && this.changeState(tx, stored, decision, now);
  }

  private async changeState(
    tx: EntityManager,
    stored: StoredRequest,
    { leavesCooldown, finishes }: WorkDecision,
    now: number,
  ): Promise<StoredRequest> {
    let changed = stored;
    if (leavesCooldown) {
      changed = await this.requests.save(tx, { ...changed, state: 'ACTIVE', changedAt: now });
      await this.history.record(tx, { createdAt: now, eventType: 'EXITED_COOLDOWN', request: changed.request });
    }
    if (finishes) {
      changed = await this.requests.save(tx, { ...changed, state: 'FINISHED', changedAt: now });
      await this.history.record(tx, { createdAt: now, eventType: 'FINISHED', request: changed.request });
    }
    return changed;
  }
}

function waitingRequest(stored: StoredRequest, pending: StoredPendingDeploy | undefined): WaitingRequest {
  const { request, state, activeDeployId } = stored;
  return { request, state, activeDeployId, pendingDeploy: pending };
}

import { Inject, Injectable, Logger } from '@nestjs/common';
import { parentVariables, releasable } from '../../core/flows/index.js';
import type { PendingRequest } from '../../core/model/task.js';
import type { WaitingRun } from '../../modules/flows/flow-run.repository.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { byHalves } from '../../platform/database/by-halves.js';
import { commitLazily } from '../../platform/database/commit-lazily.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Rows } from '../../rows.js';

/** Requests whose runs go into their queues in one transaction: as many as are drained in one. */
const requestsPerTransaction = 200;
/** Runs of all of them together, the oldest first. */
const runsPerTransaction = 500;

/**
 * Puts the runs of flows into the queues of their requests. A run is there from the transaction that stored the end of its parent; here
 * it meets the request as it is now, under the lock on its row: one that is paused, or has no deploy, keeps it waiting.
 */
@Injectable()
export class FlowReleases {
  private readonly log = new Logger(FlowReleases.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** One look at all requests with such runs; answers whether to look again soon: another transaction held one of them, or there are more runs. */
  async runOnce(now: number): Promise<boolean> {
    const pool = this.db.leaderPool;
    const requestIds = await this.rows.flowRuns.waitingRequestIds(pool);
    if (requestIds.length === 0) return false;
    // A request whose queue is full is not locked: there may be thousands, at each look.
    const rooms = await this.rooms(pool, await this.rows.requests.findMany(pool, requestIds));
    const ready = requestIds.filter((id) => rooms.get(id) !== 0);
    let isLeft = false;
    for (let first = 0; first < ready.length; first += requestsPerTransaction) {
      await byHalves(ready.slice(first, first + requestsPerTransaction), {
        work: async (ids) => {
          isLeft = (await this.releaseTogether(ids, now)) === 'SOME_LEFT' || isLeft;
        },
        isAboutItems: (cause) => !concernsAll(cause),
        alone: (id, cause) => tellFailure(this.log, `Runs of request '${id}' that follow others are stuck`, cause),
      });
    }
    return isLeft;
  }

  private releaseTogether(requestIds: readonly string[], now: number): Promise<'ALL' | 'SOME_LEFT'> {
    return this.db.leaderTransaction((tx) => this.release(tx, requestIds, now));
  }

  private async release(tx: Transaction, requestIds: readonly string[], now: number): Promise<'ALL' | 'SOME_LEFT'> {
    // Should the database lose this commit, the runs still wait. A launch, which others see, makes it durable.
    const [, locked] = await Promise.all([commitLazily(tx), this.rows.requests.lockFree(tx, requestIds)]);
    const isLocked = new Set(locked.map(({ request }) => request.id));
    const missing = requestIds.filter((id) => !isLocked.has(id));
    const held = new Set((await this.findMissing(tx, missing)).map(({ request }) => request.id));
    const gone = missing.filter((id) => !held.has(id));
    if (gone.length > 0) await this.rows.flowRuns.giveUp(tx, gone, now);
    const runs = await this.rows.flowRuns.waiting(tx, await this.rooms(tx, locked), runsPerTransaction);
    const requests = new Map(locked.map((stored) => [stored.request.id, stored]));
    await Promise.all([
      this.rows.pendingRequests.enqueueAll(
        tx,
        runs.map((run) => entryOf(run, requests.get(run.requestId)!, now)),
      ),
      this.rows.flowRuns.queued(tx, runs, now),
    ]);
    return held.size > 0 || runs.length === runsPerTransaction ? 'SOME_LEFT' : 'ALL';
  }

  private findMissing(tx: Transaction, ids: readonly string[]): Promise<StoredRequest[]> {
    return ids.length > 0 ? this.rows.requests.findMany(tx, ids) : Promise.resolve([]);
  }

  /** For how many runs each of them has room. */
  private async rooms(tx: Queryable, requests: readonly StoredRequest[]): Promise<Map<string, number>> {
    const ids = requests.map(({ request }) => request.id);
    const [waiting, counts] = await Promise.all([
      this.rows.pendingRequests.runsOf(tx, ids),
      this.rows.tasks.runCounts(tx, ids),
    ]);
    const { maxPendingRunsPerRequest: mostWaiting } = this.settings;
    return new Map(
      requests.map(({ request: { id, requestType }, state, activeDeployId }) => {
        const own = { waiting: waiting.get(id)!, active: counts.get(id)!.active };
        return [id, releasable({ requestType, state, activeDeployId, ...own, mostWaiting })];
      }),
    );
  }
}

/** The run as its request is asked for it, by its active deploy. */
const entryOf = (
  { asked, requestId, runId, trigger, flowId, parentRuns, createdAt, outputsOfParents }: WaitingRun,
  { request, activeDeployId }: StoredRequest,
  now: number,
): PendingRequest => ({
  ...asked,
  envOverrides: { ...asked.envOverrides, ...parentVariables(outputsOfParents) },
  requestId,
  deployId: activeDeployId!,
  timestamp: now,
  askedAt: now,
  pendingType: request.requestType === 'SCHEDULED' ? 'IMMEDIATE' : 'ONEOFF',
  runId,
  trigger,
  scheduledAt: createdAt,
  flowId,
  parentRuns,
});

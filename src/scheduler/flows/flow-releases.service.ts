import { Inject, Injectable, Logger } from '@nestjs/common';
import { parentVariables, releasable } from '../../core/flows/index.js';
import type { PendingRequest } from '../../core/model/task.js';
import type { WaitingRun } from '../../modules/flows/flow-run.repository.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Rows } from '../../rows.js';

/** Runs of one request that go into its queue in one transaction. */
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

  /** One look at all requests with such runs; answers whether another transaction held one of them. */
  async runOnce(now: number): Promise<boolean> {
    const pool = this.db.leaderPool;
    const requestIds = await this.rows.flowRuns.waitingRequestIds(pool);
    if (requestIds.length === 0) return false;
    // A request whose queue is full costs no transaction of its own: there may be thousands, at each look.
    const rooms = await this.rooms(pool, await this.rows.requests.findMany(pool, requestIds));
    let someAreHeld = false;
    for (const requestId of requestIds) {
      if (rooms.get(requestId) === 0) continue;
      try {
        const released = await this.db.leaderTransaction((tx) => this.release(tx, requestId, now));
        someAreHeld ||= released === 'HELD';
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        // The others are still looked at.
        tellFailure(this.log, `Runs of request '${requestId}' that follow others are stuck`, cause);
      }
    }
    return someAreHeld;
  }

  private async release(tx: Transaction, requestId: string, now: number): Promise<'DONE' | 'HELD'> {
    const [stored] = await this.rows.requests.lockFree(tx, [requestId]);
    if (!stored) {
      if (await this.rows.requests.find(tx, requestId)) return 'HELD';
      await this.rows.flowRuns.giveUp(tx, requestId, now);
      return 'DONE';
    }
    const room = (await this.rooms(tx, [stored])).get(requestId)!;
    if (room === 0) return 'DONE';
    const runs = await this.rows.flowRuns.waiting(tx, requestId, Math.min(room, runsPerTransaction));
    await this.rows.pendingRequests.enqueueAll(
      tx,
      runs.map((run) => entryOf(run, stored, now)),
    );
    await this.rows.flowRuns.queued(tx, runs, now);
    return 'DONE';
  }

  /** For how many runs each of them has room. */
  private async rooms(tx: Queryable, requests: readonly StoredRequest[]): Promise<Map<string, number>> {
    const ids = requests.map(({ request }) => request.id);
    const waiting = await this.rows.pendingRequests.runsOf(tx, ids);
    const counts = await this.rows.tasks.runCounts(tx, ids);
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

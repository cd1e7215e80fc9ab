import { Inject, Injectable, Logger } from '@nestjs/common';
import { parentVariables, releasable } from '../../core/flows/index.js';
import type { PendingRequest } from '../../core/model/task.js';
import type { WaitingRun } from '../../modules/flows/flow-run.repository.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Rows } from '../../rows.js';

/** Requests whose runs go into their queues in one transaction, and the most of these runs. */
const requestsPerTransaction = 50;
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
    const waiting = await this.rows.flowRuns.waitingRequestIds(this.db.leaderPool);
    let someAreHeld = false;
    for (let first = 0; first < waiting.length; first += requestsPerTransaction) {
      const ids = waiting.slice(first, first + requestsPerTransaction);
      someAreHeld = (await this.releaseTogether(ids, now)) || someAreHeld;
    }
    return someAreHeld;
  }

  private async releaseTogether(requestIds: readonly string[], now: number): Promise<boolean> {
    try {
      return await this.db.leaderTransaction((tx) => this.release(tx, requestIds, now));
    } catch (cause) {
      if (concernsAll(cause)) throw cause;
      if (requestIds.length === 1) {
        tellFailure(this.log, `Runs of request '${requestIds[0]}' that follow others are stuck`, cause);
        return false;
      }
      // The broken one must not hold up the others.
      let someAreHeld = false;
      for (const requestId of requestIds) someAreHeld = (await this.releaseTogether([requestId], now)) || someAreHeld;
      return someAreHeld;
    }
  }

  /** Answers whether another transaction holds one of the requests. */
  private async release(tx: Transaction, requestIds: readonly string[], now: number): Promise<boolean> {
    const free = new Map((await this.rows.requests.lockFree(tx, requestIds)).map((row) => [row.request.id, row]));
    const others = requestIds.filter((id) => !free.has(id));
    const held = others.length > 0 ? await this.rows.requests.findMany(tx, others) : [];
    const isThere = new Set(held.map(({ request }) => request.id));
    for (const id of others) if (!isThere.has(id)) await this.rows.flowRuns.giveUp(tx, id, now);
    const rooms = await this.rooms(tx, [...free.values()]);
    if (rooms.size > 0) {
      const runs = await this.rows.flowRuns.waiting(tx, rooms, runsPerTransaction);
      await this.rows.pendingRequests.enqueueAll(
        tx,
        runs.map((run) => entryOf(run, free.get(run.requestId)!, now)),
      );
      await this.rows.flowRuns.queued(tx, runs, now);
    }
    return held.length > 0;
  }

  /** For how many runs there is room in each queue, of those that have some. */
  private async rooms(tx: Transaction, requests: readonly StoredRequest[]): Promise<Map<string, number>> {
    const ids = requests.map(({ request }) => request.id);
    const waiting = await this.rows.pendingRequests.runsOf(tx, ids);
    const active = await this.rows.tasks.activeRuns(tx, ids);
    const { maxPendingRunsPerRequest: mostWaiting } = this.settings;
    const rooms = new Map<string, number>();
    for (const { request, state, activeDeployId } of requests) {
      const [waits, goesOn] = [waiting.get(request.id) ?? 0, active.get(request.id) ?? 0];
      const { requestType } = request;
      const facts = { requestType, state, activeDeployId, waiting: waits, active: goesOn, mostWaiting };
      const room = Math.min(releasable(facts), runsPerTransaction);
      if (room > 0) rooms.set(request.id, room);
    }
    return rooms;
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

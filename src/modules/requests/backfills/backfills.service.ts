import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { PendingEventType } from '../../../core/model/event.js';
import { type BackfillRequest, backfillTimes, refuseBackfill } from '../../../core/requests/backfill.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { SchedulerError } from '../../../platform/errors.js';
import type { Caller } from '../../../platform/http/caller.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { type LockedRequest, RequestActions, throwIf } from '../request-actions.service.js';
import type { StoredRequest } from '../request.repository.js';
import { BackfillDto, type BackfillPlanDto } from './backfill.dto.js';
import { nextBackfillRuns } from './next-backfill-runs.js';

/** Backfills that are not over, of one request. */
const mostOpen = 10;
const mostListed = 100;

/** Runs for planned times of the past. Every change of one is made under the lock on the row of its request. */
@Injectable()
export class Backfills {
  constructor(
    private readonly actions: RequestActions,
    private readonly rows: Rows,
    private readonly database: Database,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  create(requestId: string, asked: BackfillRequest, caller: Caller): Promise<BackfillDto> {
    return this.actions.perform(requestId, ['scheduler'], async (tx, locked) => {
      const { stored, now } = locked;
      const { times, skipped } = await this.timesOf(tx, locked, asked);
      if (times.length === 0) throw allHadRuns(skipped);
      const { from, to, concurrency = 1, order, force = false, message } = asked;
      const id = randomUUID();
      await this.rows.runBackfills.create(
        tx,
        {
          id,
          requestId,
          from,
          to,
          concurrency,
          newestFirst: order === 'NEWEST_FIRST',
          forced: force,
          skipped,
          user: caller.email,
          message,
          createdAt: now,
        },
        times,
      );
      await this.rows.runBackfills.removeOld(tx, requestId, mostListed);
      await this.advance(tx, stored, now);
      return this.one(tx, requestId, id);
    });
  }

  /** Counts the runs that a backfill would make. Changes nothing, in a transaction that cannot write. */
  async plan(requestId: string, asked: BackfillRequest): Promise<BackfillPlanDto> {
    const { times, skipped } = await this.database.snapshot(async (tx) => {
      const seen = await this.actions.find(tx, requestId);
      if (!seen) throw SchedulerError.requestNotFound(requestId);
      return this.timesOf(tx, seen, asked);
    });
    return { runs: times.length, skipped, first: times[0], last: times.at(-1) };
  }

  /** Planned times that a backfill would run, oldest first, and how many have had a run and are left out. */
  private async timesOf(
    tx: Transaction,
    { stored, facts, now }: LockedRequest,
    asked: BackfillRequest,
  ): Promise<{ times: number[]; skipped: number }> {
    throwIf(refuseBackfill(facts, this.settings.compatibility === '1.5'));
    const found = backfillTimes(stored.request, stored.scheduleSince, asked, now);
    if ('errors' in found) throw SchedulerError.invalid('INVALID_REQUEST', found.errors);
    const { id } = stored.request;
    await this.refuseTooMany(tx, id);
    const had = asked.force ? undefined : await this.rows.runBackfills.timesWithRuns(tx, id, found.times);
    return { times: found.times.filter((at) => !had?.has(at)), skipped: had?.size ?? 0 };
  }

  /** Runs that wait are dropped; those that have begun go on to their ends. */
  cancel(requestId: string, id: string): Promise<BackfillDto> {
    return this.actions.perform(requestId, ['scheduler'], async (tx, { stored, now }) => {
      await this.one(tx, requestId, id);
      const { canceled, runIds } = await this.rows.runBackfills.cancel(tx, id, now);
      await this.tell(tx, stored, 'REMOVED', canceled);
      const dropped = await this.rows.waitingRuns.drop(tx, requestId, runIds);
      await this.rows.runBackfills.cancelRuns(tx, id, dropped, now);
      return this.one(tx, requestId, id);
    });
  }

  /** Newest first. */
  async list(requestId: string): Promise<BackfillDto[]> {
    const found = await this.rows.runBackfills.find(this.database.pool, requestId, { most: mostListed });
    if (found.length === 0 && !(await this.rows.requests.find(this.database.pool, requestId)))
      throw SchedulerError.requestNotFound(requestId);
    return found.map((backfill) => BackfillDto.from(backfill));
  }

  async find(requestId: string, id: string): Promise<BackfillDto> {
    const [found] = await this.rows.runBackfills.find(this.database.pool, requestId, { id });
    if (!found) throw notFound(requestId, id);
    return BackfillDto.from(found, await this.rows.runBackfills.times(this.database.pool, id));
  }

  /** Makes runs of the times that have their turn; answers how many. The row of the request is locked in `tx`. */
  async advance(tx: Transaction, stored: StoredRequest, now: number): Promise<number> {
    const entries = await nextBackfillRuns(this.rows, tx, stored, now);
    await this.rows.pendingRequests.enqueueAll(tx, entries);
    return entries.length;
  }

  /** Goes on after runs were dropped; answers how many runs it makes. The row of the request is locked in `tx`. */
  async goOn(tx: Transaction, stored: StoredRequest, now: number): Promise<number> {
    const released = await this.rows.runBackfills.releaseDropped(tx, stored.request.id, now);
    const waiting = released.filter((state) => state === 'WAITING').length;
    await this.tell(tx, stored, 'QUEUED', waiting);
    await this.tell(tx, stored, 'REMOVED', released.length - waiting);
    return this.advance(tx, stored, now);
  }

  /** Times of a backfill that wait for their turn are told of as the tasks that they become. */
  private async tell(
    tx: Transaction,
    stored: StoredRequest,
    eventType: PendingEventType,
    times: number,
  ): Promise<void> {
    const { request, activeDeployId: deployId } = stored;
    // Nothing has its turn without a deploy.
    if (deployId === undefined) return;
    const key = { requestId: request.id, deployId };
    await this.rows.outbox.pendingTasks(
      tx,
      eventType,
      Array.from({ length: times }, () => key),
    );
  }

  private async refuseTooMany(tx: Transaction, requestId: string): Promise<void> {
    if ((await this.rows.runBackfills.openCount(tx, requestId)) < mostOpen) return;
    const message = `Request '${requestId}' has ${mostOpen} backfills that are not over, which is the most; cancel one, or wait`;
    throw new SchedulerError('TOO_MANY_RUNS', message);
  }

  private async one(tx: Transaction, requestId: string, id: string): Promise<BackfillDto> {
    const [found] = await this.rows.runBackfills.find(tx, requestId, { id });
    if (!found) throw notFound(requestId, id);
    return BackfillDto.from(found);
  }
}

const notFound = (requestId: string, id: string): SchedulerError =>
  new SchedulerError('RUN_NOT_FOUND', `Request '${requestId}' has no backfill '${id}'`);

function allHadRuns(count: number): SchedulerError {
  const message = `force: each of the ${count} planned times between from and to has had a run; force runs them once more`;
  return SchedulerError.invalid('INVALID_REQUEST', [{ field: 'force', rule: 'repeated', message }]);
}

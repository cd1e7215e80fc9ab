import { Injectable } from '@nestjs/common';
import type { RequestCleanupType } from '../../core/model/enums.js';
import type { RequestFacts, Refusal } from '../../core/requests/action-rules.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SchedulerError } from '../../platform/errors.js';
import { Wake, type WakeTopic } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from './request.repository.js';

/** A request whose row is locked, and everything an action has to know of it. */
export interface LockedRequest {
  stored: StoredRequest;
  facts: RequestFacts;
  now: number;
}

/** The frame around every action on one request: lock, look, change, commit, wake the pollers that now have something to do. */
@Injectable()
export class RequestActions {
  constructor(
    private readonly database: Database,
    private readonly rows: Rows,
    private readonly clock: Clock,
    private readonly wake: Wake,
  ) {}

  /** Fails with 404 when there is no such request. */
  async perform<T>(
    requestId: string,
    topics: readonly WakeTopic[],
    action: (tx: Transaction, locked: LockedRequest) => Promise<T>,
  ): Promise<T> {
    const result = await this.database.transaction(
      async (tx) => {
        const locked = await this.lock(tx, requestId);
        if (!locked) throw SchedulerError.requestNotFound(requestId);
        return action(tx, locked);
      },
      [requestId],
    );
    this.wake.signalOf([requestId], ...topics);
    return result;
  }

  async lock(tx: Transaction, requestId: string): Promise<LockedRequest | undefined> {
    const stored = await this.rows.requests.lock(tx, requestId);
    return stored && this.around(tx, stored);
  }

  /** Reads a request without a lock, for callers that change nothing. */
  async find(tx: Transaction, requestId: string): Promise<LockedRequest | undefined> {
    const stored = await this.rows.requests.find(tx, requestId);
    return stored && this.around(tx, stored);
  }

  /**
   * Reads what goes on around a request whose row is locked in `tx`. `known`: its cleanups, where they were read since.
   */
  async around(tx: Transaction, stored: StoredRequest, known?: readonly RequestCleanupType[]): Promise<LockedRequest> {
    const requestId = stored.request.id;
    const cleanups =
      known ?? (await this.rows.requestCleanups.find(tx, requestId)).map(({ cleanupType }) => cleanupType);
    const [pendingDeploy] = await this.rows.deploys.findPending(tx, [requestId]);
    const facts: RequestFacts = {
      request: stored.request,
      state: stored.state,
      cleanups,
      deployInUse: deployInUse(stored),
      bouncing: stored.bouncing,
      deployChangesRequest: pendingDeploy?.updatedRequest !== undefined,
    };
    return { stored, facts, now: this.clock.now() };
  }
}

/** The active deploy of a request, else the one in progress. */
export const deployInUse = ({ activeDeployId, pendingDeployId }: StoredRequest): string | undefined =>
  activeDeployId ?? pendingDeployId;

export function throwIf(refusal: Refusal | undefined): void {
  if (refusal) throw new SchedulerError(refusal.code, refusal.message);
}

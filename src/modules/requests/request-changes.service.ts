import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { RequestEventType } from '../../core/model/enums.js';
import { instancesOf, type Request } from '../../core/model/request.js';
import { spreadRules } from '../../core/pending-work/index.js';
import { changesWork, shrink, stateAfterUpdate } from '../../core/requests/changes.js';
import { followsActiveSlaves } from '../../core/request-validation/index.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { deployInUse } from './request-actions.service.js';
import type { StoredRequest } from './request.repository.js';

/** Details of a change of a request that are recorded with it. */
export interface RequestChangeNote {
  eventType: RequestEventType;
  now: number;
  /** As the history shows it. */
  user?: string;
  /** As the cleanups of tasks that have to go show it. */
  cleanupUser?: string;
  message?: string;
  actionId?: string;
  /** For the tasks that start because of the change. */
  skipHealthchecks?: boolean;
  /** The scheduler hears of it in another way, such as by the bounce that comes along. */
  quiet?: boolean;
}

/** Puts a new version of a request in the place of the stored one, with all that follows from the difference. */
@Injectable()
export class RequestChanges {
  constructor(
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** The row is locked in `tx`, `next` was checked. Wake 'scheduler' and 'cleanup' after the commit. */
  async apply(tx: Transaction, stored: StoredRequest, next: Request, note: RequestChangeNote): Promise<StoredRequest> {
    const workChanged = changesWork(stored.request, next);
    const saved = await this.rows.requests.save(tx, {
      ...stored,
      request: next,
      state: stateAfterUpdate(stored.state, workChanged),
      changedAt: note.now,
    });
    const { now: createdAt, eventType, user, message } = note;
    await this.rows.requestHistory.record(tx, { createdAt, eventType, user, request: next, message });
    await this.endSurplus(tx, stored, next, note);
    if (next.skipHealthchecks && !stored.request.skipHealthchecks) {
      await this.rows.taskHealthchecks.recordSkip(tx, next.id, note.cleanupUser, note.now);
    }
    if (workChanged && !note.quiet) await this.queueUpdate(tx, saved, note);
    return saved;
  }

  /** Asks the scheduler to look at the request's tasks again, when there is a deploy to run. */
  async queueUpdate(tx: Transaction, stored: StoredRequest, note: RequestChangeNote): Promise<void> {
    const deployId = deployInUse(stored);
    if (!deployId) return;
    await this.rows.pendingRequests.enqueue(tx, {
      requestId: stored.request.id,
      deployId,
      timestamp: note.now,
      user: note.user,
      pendingType: 'UPDATED_REQUEST',
      skipHealthchecks: note.skipHealthchecks,
      message: note.message,
      actionId: note.actionId,
    });
  }

  private async endSurplus(
    tx: Transaction,
    stored: StoredRequest,
    next: Request,
    note: RequestChangeNote,
  ): Promise<void> {
    if (instancesOf(next) >= instancesOf(stored.request)) return;
    const tasks = await this.rows.tasks.find(tx, { requestIds: [next.id] });
    const active = tasks.filter(({ taskId }) => taskId.deployId === stored.activeDeployId);
    const spread = spreadRules(this.settings, await this.rows.slaves.list(tx));
    const onePerSlave = followsActiveSlaves(next, this.settings);
    await this.rows.taskCleanups.createAll(
      tx,
      shrink(stored.request, next, active, spread, onePerSlave).map(({ taskId, cleanupType }) => ({
        taskId,
        cleanupType,
        timestamp: note.now,
        user: note.cleanupUser,
        message: note.message,
        actionId: randomUUID(),
      })),
    );
  }
}

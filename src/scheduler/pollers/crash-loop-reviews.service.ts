import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { findCrashLoops, isObserved, reviewCrashLoops, type CrashLoopReview } from '../../core/crash-loops/index.js';
import { groupBy } from '../../core/group-by.js';
import { parseTaskId } from '../../core/task-id.js';
import { deployKeyText } from '../../modules/deploys/deploy-store.service.js';
import { CrashLoopStore } from '../../modules/requests/crash-loops/crash-loop-store.service.js';
import type { StoredRequest } from '../../modules/requests/request-store.service.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { DeployCountsStore } from '../deploy-counts.service.js';
import { crashLoopRules } from '../rules.js';

interface CleanupRow {
  task_id: string;
  request_id: string;
  created_at: Date;
}

/** Looks for the crash loops of requests, as their rows are now. */
@Injectable()
export class CrashLoopReviews {
  constructor(
    private readonly loops: CrashLoopStore,
    private readonly counts: DeployCountsStore,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** Ids of the requests for which anything could have to be written: they have failures, or loops. */
  async candidates(tx: EntityManager): Promise<string[]> {
    const found = await rows<{ id: string }>(
      tx,
      `SELECT r.id FROM request r
       WHERE EXISTS (SELECT 1 FROM crash_loop l WHERE l.request_id = r.id)
         OR r.state IN ('ACTIVE', 'DEPLOYING_TO_UNPAUSE') AND EXISTS (SELECT 1 FROM deploy_statistics s
           WHERE s.request_id = r.id AND s.deploy_id = r.active_deploy_id AND s.failure_events <> '[]')
       ORDER BY r.id`,
    );
    return found.map(({ id }) => id);
  }

  /** What would have to be written, by request id; requests with nothing to write are left out. */
  async review(
    tx: EntityManager,
    requests: readonly StoredRequest[],
    now: number,
  ): Promise<Map<string, CrashLoopReview>> {
    const ids = requests.map(({ request }) => request.id);
    const keys = requests.flatMap(({ request, activeDeployId: deployId }) =>
      deployId === undefined ? [] : { requestId: request.id, deployId },
    );
    const counts = await this.counts.find(tx, keys);
    const stored = groupBy(await this.loops.find(tx, ids), ({ requestId }) => requestId);
    const cleanups = groupBy(await this.cleanups(tx, ids), ({ request_id }) => request_id);
    const rules = crashLoopRules(this.settings);
    const reviews = requests.map(({ request: { id, requestType }, state, activeDeployId }) => {
      const deploy = {
        requestType,
        failures: counts.get(deployKeyText({ requestId: id, deployId: activeDeployId ?? '' }))?.failureEvents ?? [],
        cleanups: (cleanups.get(id) ?? []).flatMap(toInstanceCleanup),
      };
      const found = isObserved(state) ? findCrashLoops(deploy, rules, now) : undefined;
      return [id, reviewCrashLoops(stored.get(id) ?? [], { id, activeDeployId }, found, now)] as const;
    });
    return new Map(reviews.filter(([, { changed, forgotten }]) => changed.length + forgotten.length > 0));
  }

  private cleanups(tx: EntityManager, requestIds: readonly string[]): Promise<CleanupRow[]> {
    return rows(tx, 'SELECT task_id, request_id, created_at FROM task_cleanup WHERE request_id = ANY ($1)', [
      requestIds,
    ]);
  }
}

const toInstanceCleanup = (row: CleanupRow): { instanceNo: number; createdAt: number }[] => {
  const taskId = parseTaskId(row.task_id);
  return taskId ? [{ instanceNo: taskId.instanceNo, createdAt: row.created_at.getTime() }] : [];
};

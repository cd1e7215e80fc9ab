import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { noCounts } from '../../core/completion/index.js';
import { deployKeyText } from '../../core/model/deploy.js';
import type { PendingRequest, PendingTask, TaskCleanup } from '../../core/model/task.js';
import { type ActiveTask, planRuns, type RunPlan } from '../../core/pending-work/index.js';
import { plansAhead } from '../../core/schedules/index.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import { workRules } from '../rules.js';
import { DrainedStates } from './drained-states.service.js';

/** A request whose times are planned ahead, with what waits in the queue and runs. */
export interface RunsWork {
  stored: StoredRequest;
  entries: readonly PendingRequest[];
  tasks: readonly ActiveTask[];
  /** Its pending tasks that are wanted. */
  pendingTasks: readonly PendingTask[];
  isFollowed: boolean;
}

export const isPlannedAhead = (stored: StoredRequest | undefined): stored is StoredRequest =>
  stored !== undefined && plansAhead(stored.request);

/** Plans the times of requests one by one: those whose runs may overlap, wait, or be made up for. */
@Injectable()
export class RunPlanning {
  constructor(
    private readonly rows: Rows,
    private readonly states: DrainedStates,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** The requests are locked in `tx`. Answers how many runs are asked to end. */
  async plan(tx: Transaction, works: readonly RunsWork[], now: number): Promise<number> {
    if (works.length === 0) return 0;
    const { cooldownMinScheduleMillis } = workRules(this.settings, []);
    const plans: { stored: StoredRequest; plan: RunPlan }[] = [];
    for (const { stored, entries, tasks, pendingTasks, isFollowed } of works) {
      const { request, state, scheduleSince, startedRuns, activeDeployId, plannedUntil } = stored;
      const work = {
        request: { request, state, scheduleSince, startedRuns, activeDeployId },
        entries,
        tasks,
        pendingTasks,
        plannedUntil,
        newFlowId: isFollowed ? randomUUID : undefined,
        failingFast: await this.states.isFailingFast(tx, stored, activeDeployId ?? '', now),
      };
      plans.push({ stored, plan: planRuns(work, cooldownMinScheduleMillis, now) });
    }
    return this.write(tx, plans, now);
  }

  private async write(
    tx: Transaction,
    plans: readonly { stored: StoredRequest; plan: RunPlan }[],
    now: number,
  ): Promise<number> {
    const all = <T>(of: (plan: RunPlan) => readonly T[]): T[] => plans.flatMap(({ plan }) => of(plan));
    const cleanups = all(({ end }) => end).map((taskId): TaskCleanup => ({
      taskId,
      cleanupType: 'REPLACED_BY_NEXT_RUN',
      timestamp: now,
      message: 'The next run of its request is due, and replaces it',
    }));
    const plannings = plans.map(({ stored, plan: { plannedUntil, lookAt } }) => ({
      requestId: stored.request.id,
      plannedUntil,
      lookAt,
    }));
    await Promise.all([
      // One after the other, as streams are told of them.
      this.rows.pendingTasks
        .remove(
          tx,
          all(({ drop }) => drop),
        )
        .then(() =>
          this.rows.pendingTasks.insert(
            tx,
            all(({ create }) => create),
          ),
        ),
      this.rows.plannedRuns.markBuffered(
        tx,
        all(({ buffer }) => buffer),
      ),
      // In the place of an order that leaves a run to its end.
      this.rows.taskCleanups.saveAll(tx, cleanups),
      this.rows.requestTimings.save(tx, plannings),
      this.countSkipped(tx, plans),
    ]);
    for (const { stored, plan } of plans) await this.states.change(tx, stored, plan, now);
    return cleanups.length;
  }

  private async countSkipped(
    tx: Transaction,
    plans: readonly { stored: StoredRequest; plan: RunPlan }[],
  ): Promise<void> {
    const skipped = plans
      .filter(({ plan }) => plan.skipped > 0)
      .map(({ stored, plan }) => ({
        key: { requestId: stored.request.id, deployId: stored.activeDeployId! },
        times: plan.skipped,
      }));
    if (skipped.length === 0) return;
    const counts = await this.rows.deployStatistics.find(
      tx,
      skipped.map(({ key }) => key),
    );
    const changed = skipped.map(({ key, times }) => {
      const before = counts.get(deployKeyText(key)) ?? noCounts;
      return { key, counts: { ...before, skippedRuns: (before.skippedRuns ?? 0) + times } };
    });
    await this.rows.deployStatistics.save(tx, changed);
  }
}

import { Inject, Injectable } from '@nestjs/common';
import { hasPassed } from '../../core/elapsed.js';
import {
  completeTask,
  countsForRestart,
  type Completion,
  type DeployCounts,
  type EndedTask,
  noCounts,
  retryPolicyOf,
} from '../../core/completion/index.js';
import { isBesideSchedule } from '../../core/pending-work/index.js';
import { isLongRunning } from '../../core/model/enums.js';
import { storePause } from '../../modules/requests/actions/store-pause.js';
import { nextBackfillRuns } from '../../modules/requests/backfills/next-backfill-runs.js';
import type { EndedBackfillRun } from '../../modules/requests/backfills/run-backfill.repository.js';
import { decideRemoval } from '../../core/load-balancer/index.js';
import { type DeployKey, deployKeyText } from '../../core/model/deploy.js';
import type { Request } from '../../core/model/request.js';
import { taskEndMail, type MailEvent } from '../../core/mail/index.js';
import type { PendingRequest, TaskId } from '../../core/model/task.js';
import { Rows } from '../../rows.js';
import { FollowUps, type EndOfRun } from '../../modules/flows/follow-ups.service.js';
import type { StoredRequest } from '../../modules/requests/request.repository.js';
import type { FailedInstance } from '../../modules/tasks/instance-failure.repository.js';
import type { LaunchData } from '../../modules/tasks/task-launch.repository.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { cooldownRules } from '../rules.js';
import type { TaskEndReport } from './status-batch.js';

/** Consequences of the ends of tasks: counts, the next entry in the queue, runs that follow, cooldown. */
@Injectable()
export class Completions {
  constructor(
    private readonly rows: Rows,
    private readonly followUps: FollowUps,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * `requests` are locked in `tx`; what changes of them is written and put back into the map. Answers how many times of schedules
   * passed without a run.
   */
  async complete(
    tx: Transaction,
    ends: readonly TaskEndReport[],
    requests: Map<string, StoredRequest>,
    now: number,
  ): Promise<number> {
    const taskIds = ends.map(({ taskId }) => taskId);
    const [launched, counts] = await Promise.all([
      this.rows.taskLaunches.launchData(
        tx,
        taskIds.map(({ id }) => id),
      ),
      this.rows.deployStatistics.find(tx, taskIds),
    ]);
    const changed = new Map<string, { key: DeployKey; counts: DeployCounts }>();
    const entries: PendingRequest[] = [];
    const leaving: TaskId[] = [];
    const told: MailEvent[] = [];
    const runs: EndOfRun[] = [];
    const backfilled: EndedBackfillRun[] = [];
    const failed: FailedInstance[] = [];
    let skipped = 0;
    for (const end of ends) {
      const { taskId } = end;
      const key = deployKeyText(taskId);
      const stored = requests.get(taskId.requestId);
      const former = changed.get(key)?.counts ?? counts.get(key) ?? noCounts;
      const ended = endedTask(end, launched.get(taskId.id)!);
      const result = completeTask(ended, stored, former, cooldownRules(this.settings), now);
      changed.set(key, { key: taskId, counts: result.counts });
      skipped += (result.counts.skippedRuns ?? 0) - (former.skippedRuns ?? 0);
      if (result.enqueue) entries.push(result.enqueue);
      else if (isBesideSchedule(ended.pendingTask.pendingTaskId)) backfilled.push(endOfBackfillRun(ended));
      if (result.leavesLoadBalancer) leaving.push(taskId);
      if (stored?.request.restart && countsForRestart(ended, stored))
        failed.push({ taskId, at: ended.endedAt, policy: stored.request.restart });
      if (stored) told.push(...taskMails(ended, stored, result));
      if (stored && endsRun(stored, result)) runs.push(ended);
      if (stored && result.pauses) {
        requests.set(stored.request.id, await this.pause(tx, stored, taskId, now));
        told.push(pausedMail(stored.request, taskId, now));
      }
      if (stored && result.cooldown) {
        requests.set(stored.request.id, await this.changeCooldown(tx, stored, result.cooldown, now));
        if (result.cooldown === 'ENTER') told.push(this.cooldownMail(stored.request, result.counts, now));
      }
    }
    entries.push(...(await this.goOnWithBackfills(tx, backfilled, requests, now)));
    await Promise.all([
      this.rows.instanceFailures.note(tx, failed),
      this.rows.pendingRequests.enqueueAll(tx, entries),
      this.leaveLoadBalancer(tx, leaving, now),
      this.rows.deployStatistics.save(tx, [...changed.values()]),
      this.followUps.after(tx, runs, now),
      this.rows.mailOutbox.queue(tx, told),
    ]);
    return skipped;
  }

  /** The end of a run of a backfill gives the next time its turn. */
  private async goOnWithBackfills(
    tx: Transaction,
    ended: readonly EndedBackfillRun[],
    requests: ReadonlyMap<string, StoredRequest>,
    now: number,
  ): Promise<PendingRequest[]> {
    await this.rows.runBackfills.endRuns(tx, ended, now);
    const entries: PendingRequest[] = [];
    for (const requestId of new Set(ended.map((run) => run.requestId))) {
      const stored = requests.get(requestId);
      if (stored) entries.push(...(await nextBackfillRuns(this.rows, tx, stored, now)));
    }
    return entries;
  }

  /** Tasks that never were in it, or left before they were killed, are skipped: there is nothing to wait for. */
  private async leaveLoadBalancer(tx: Transaction, taskIds: readonly TaskId[], now: number): Promise<void> {
    const records = await this.rows.loadBalancerRecords.find(
      tx,
      taskIds.map(({ id }) => id),
    );
    const grace = this.settings.loadBalancerRemovalGracePeriodMillis;
    const leaving = taskIds.filter(
      (taskId) => decideRemoval(taskId, records.get(taskId.id)!, grace, now).kind !== 'done',
    );
    await this.rows.loadBalancerRemovals.add(
      tx,
      leaving.map(({ id }) => id),
      now,
    );
  }

  private cooldownMail(request: Request, counts: DeployCounts, now: number): MailEvent {
    const { windowMillis } = cooldownRules(this.settings);
    const failures = counts.failureEvents.filter(({ timestamp }) => !hasPassed(timestamp, windowMillis, now)).length;
    const delayMillis = this.settings.cooldownMinScheduleSeconds * 1_000;
    return {
      type: 'REQUEST_IN_COOLDOWN',
      request,
      at: now,
      facts: { kind: 'cooldown', failures, windowMillis, delayMillis },
    };
  }

  /** Pauses it as a caller does: waiting runs are dropped, active ones go on to their ends. */
  private pause(tx: Transaction, stored: StoredRequest, last: TaskId, now: number): Promise<StoredRequest> {
    const message = whyPaused(stored.request, last);
    return storePause(this.rows, tx, stored, { killTasks: false, message, now });
  }

  private async changeCooldown(
    tx: Transaction,
    stored: StoredRequest,
    cooldown: 'ENTER' | 'LEAVE',
    now: number,
  ): Promise<StoredRequest> {
    const state = cooldown === 'ENTER' ? 'SYSTEM_COOLDOWN' : 'ACTIVE';
    const eventType = cooldown === 'ENTER' ? 'ENTERED_COOLDOWN' : 'EXITED_COOLDOWN';
    await this.rows.requestHistory.record(tx, { createdAt: now, eventType, request: stored.request });
    return this.rows.requests.save(tx, { ...stored, state, changedAt: now });
  }
}

/** The end of its last try is the end of a run. What always runs has none. */
const endsRun = ({ request }: StoredRequest, { next }: Completion): boolean =>
  !isLongRunning(request.requestType) && (next === 'nothing' || next === 'goOn');

const whyPaused = ({ pauseAfterFailures }: Request, { id }: TaskId): string =>
  `The last ${pauseAfterFailures === 1 ? 'run' : `${pauseAfterFailures} runs`} failed (pauseAfterFailures), most recently task ${id}`;

const pausedMail = (request: Request, last: TaskId, at: number): MailEvent => ({
  type: 'REQUEST_PAUSED',
  request,
  at,
  facts: { kind: 'paused', message: whyPaused(request, last), killTasks: false },
});

/** Mail about the end of a task, with its request as it was before; none or one. */
function taskMails(ended: EndedTask, stored: StoredRequest, { next, counts, enqueue }: Completion): MailEvent[] {
  const type = taskEndMail(ended, stored, next);
  if (!type) return [];
  const retriesLeft = Math.max(0, retryPolicyOf(stored.request).attempts - counts.numSequentialRetries);
  const retryAt = next === 'retry' ? enqueue?.runAt : undefined;
  return [
    {
      type,
      request: stored.request,
      taskId: ended.taskId.id,
      user: ended.pendingTask.user,
      at: ended.endedAt,
      facts: { kind: 'task-ended', state: ended.state, next, retriesLeft, retryAt },
    },
  ];
}

const endOfBackfillRun = ({ taskId, state, pendingTask }: EndedTask): EndedBackfillRun => ({
  requestId: taskId.requestId,
  runId: pendingTask.runId ?? '',
  scheduledAt: pendingTask.scheduledAt!,
  taskId: taskId.id,
  succeeded: state === 'TASK_FINISHED',
});

const endedTask = (
  { taskId, report }: TaskEndReport,
  { pendingTask, hadToGo, cleanupType }: LaunchData,
): EndedTask => ({
  taskId,
  state: report.state,
  endedAt: report.timestamp,
  message: report.message,
  reason: report.reason,
  exitCode: report.exitCode,
  hadToGo,
  cleanupType,
  pendingTask,
});

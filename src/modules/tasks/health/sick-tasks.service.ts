import { Injectable, Logger } from '@nestjs/common';
import {
  decideReplacements,
  type FailingState,
  judgeTask,
  type LivenessRules,
  type ReplacementDecision,
} from '../../../core/health/index.js';
import { hasPassed } from '../../../core/elapsed.js';
import { groupBy } from '../../../core/group-by.js';
import { deployKeyText } from '../../../core/model/deploy.js';
import { isRunnable } from '../../../core/model/enums.js';
import { instancesOf } from '../../../core/model/request.js';
import type { TaskCleanup, TaskId } from '../../../core/model/task.js';
import { nextStart } from '../../../core/restarts/index.js';
import { concernsAll } from '../../../platform/database/database-errors.js';
import { Database } from '../../../platform/database/database.js';
import type { Transaction } from '../../../platform/database/transaction.js';
import { tellFailure } from '../../../platform/tell-failure.js';
import { Wake } from '../../../platform/wake/wake.js';
import { Rows } from '../../../rows.js';
import type { StoredRequest } from '../../requests/request.repository.js';
import type { LiveTask } from '../task.repository.js';
import { CheckedTasks, type CheckedTask } from './checked-tasks.service.js';
import { saysOf, type SickTaskRow } from './task-liveness.repository.js';

/** A task that fails its liveness checks, as the leader that asks it sees it. */
export interface FoundSick {
  task: CheckedTask;
  rules: LivenessRules;
  state: FailingState;
  /** Beginning of its newest check by this leader. */
  lastFailedAt: number;
  /** Its failures are its own, and not those of this leader's network. */
  isJudged: boolean;
}

/** A replacement that has come to an end makes room for the next one; nobody tells of it. */
const decideAgainMillis = 4_000;
/** Thousands of requests have sick tasks when a dependency of all breaks: those beyond this wait for the next pass. */
const mostAtOnce = 100;

/** Has sick tasks replaced: a new one is asked for, and the sick one goes when that is in service. */
@Injectable()
export class SickTasks {
  private readonly log = new Logger(SickTasks.name);
  /** The last decision about each request with sick tasks: what was known then, and when to look again. */
  private readonly decisions = new Map<
    string,
    { at: number; about: string; until?: number } & Pick<ReplacementDecision, 'roomSince'>
  >();

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly tasks: CheckedTasks,
    private readonly wake: Wake,
  ) {}

  /**
   * One transaction per request, of those about which something new is known, or was decided a while ago. Answers when to look
   * again at the latest, if that is soon.
   */
  async decide(found: readonly FoundSick[], now: number): Promise<number | undefined> {
    const byRequest = groupBy(found, ({ task }) => task.live.taskId.requestId);
    for (const requestId of this.decisions.keys()) if (!byRequest.has(requestId)) this.decisions.delete(requestId);
    const due = [...byRequest].filter(([requestId, sick]) => this.isDue(requestId, sick, now));
    for (const [requestId, sick] of due.slice(0, mostAtOnce)) {
      try {
        const decision = await this.db.leaderTransaction((tx) => this.decideOne(tx, requestId, sick, now));
        const { roomSince } = decision;
        this.decisions.set(requestId, { at: now, about: stateOf(sick), until: earliest(decision), roomSince });
        if (decision.replace.length > 0)
          this.wake.signalOf([requestId], 'cleanup', 'scheduler', 'webhooks', 'load-balancer');
      } catch (cause) {
        if (concernsAll(cause)) throw cause;
        tellFailure(this.log, `Sick tasks of request '${requestId}' cannot be replaced`, cause);
      }
    }
    if (due.length > mostAtOnce) return now;
    const ends = [...this.decisions.values()].flatMap(({ until }) => until ?? []);
    return ends.length > 0 ? Math.min(...ends) : undefined;
  }

  /** Another leader decided meanwhile. */
  forgetDecisions(): void {
    this.decisions.clear();
  }

  private isDue(requestId: string, sick: readonly FoundSick[], now: number): boolean {
    const last = this.decisions.get(requestId);
    if (!last || last.about !== stateOf(sick) || hasPassed(last.at, decideAgainMillis, now)) return true;
    return last.until !== undefined && now >= last.until;
  }

  private async decideOne(
    tx: Transaction,
    requestId: string,
    found: readonly FoundSick[],
    now: number,
  ): Promise<ReplacementDecision> {
    const stored = await this.rows.requests.lock(tx, requestId);
    const { roomSince } = this.decisions.get(requestId) ?? {};
    if (!stored || !isRunnable(stored.state) || !stored.activeDeployId) return { replace: [], waits: [], roomSince };
    const key = { requestId, deployId: stored.activeDeployId };
    const asked = new Map(found.map((sick) => [sick.task.live.taskId.id, sick]));
    const sick = (await this.rows.taskLiveness.sickOf(tx, requestId)).flatMap((row) => {
      const seen = asked.get(row.taskId.id);
      return seen ? [{ row, seen }] : [];
    });
    const { restart } = stored.request;
    const failures = restart && (await this.rows.instanceFailures.find(tx, [key])).get(deployKeyText(key));
    const decision = decideReplacements(
      {
        instances: instancesOf(stored.request),
        // The deploy that is in charge says it.
        maxReplacements: sick.find(({ row }) => row.taskId.deployId === key.deployId)?.seen.rules.maxReplacements,
        underWay: await this.countUnderWay(tx, stored, now),
        waves: await this.rows.taskLiveness.waves(tx, key),
        roomSince,
        isCoolingDown: stored.state === 'SYSTEM_COOLDOWN',
        sick: sick.map(({ row, seen }) => ({
          id: row.taskId.id,
          sickSince: row.sickSince,
          lastFailedAt: seen.lastFailedAt,
          askedWithinMillis: seen.rules.intervalMillis + 2 * seen.rules.timeoutMillis,
          restarts: seen.rules.restarts,
          isJudged: seen.isJudged,
          nextStart: restart && nextStart(restart, failures?.get(row.taskId.instanceNo), now),
          isOfPendingDeploy: row.taskId.deployId === stored.pendingDeployId,
        })),
      },
      now,
    );
    await this.rows.taskLiveness.noteWaits(tx, decision.waits);
    if (decision.waves) await this.rows.taskLiveness.saveWaves(tx, key, decision.waves);
    const replaced = new Set(decision.replace);
    await this.order(
      tx,
      sick.filter(({ row }) => replaced.has(row.taskId.id)).map(({ row }) => row),
      now,
    );
    return decision;
  }

  /** Sick tasks that have not gone yet, and tasks of the active deploy that are not healthy yet, each instance once. */
  private async countUnderWay(tx: Transaction, stored: StoredRequest, now: number): Promise<number> {
    const requestId = stored.request.id;
    const live = await this.rows.tasks.find(tx, { requestIds: [requestId] });
    const killedFor = await this.rows.killedTasks.reasons(tx, requestId);
    const isLeaving = ({ taskId, cleaning }: LiveTask) =>
      cleaning === 'UNHEALTHY_TASK' || killedFor.get(taskId.id) === 'UNHEALTHY_TASK';
    const unsettled = live.filter(
      ({ taskId, cleaning, killed, healthchecksFinished }) =>
        taskId.deployId === stored.activeDeployId && cleaning === undefined && !killed && !healthchecksFinished,
    );
    const starting = (
      await this.tasks.load(
        tx,
        unsettled.map(({ taskId }) => taskId.id),
      )
    ).filter(({ watched, context }) => judgeTask(watched, context, now) !== 'HEALTHY');
    const instances = [...live.filter(isLeaving), ...starting.map((task) => task.live)];
    return new Set(instances.map(({ taskId }) => taskId.instanceNo)).size;
  }

  private async order(tx: Transaction, sick: readonly SickTaskRow[], now: number): Promise<void> {
    const cleanups = sick.map((row): TaskCleanup => ({
      taskId: row.taskId,
      cleanupType: 'UNHEALTHY_TASK',
      timestamp: now,
      message: `Task failed ${row.failures} liveness checks in a row (${saysOf(row)})`,
    }));
    const ordered = await this.rows.taskCleanups.createAll(tx, cleanups);
    await this.rows.pendingRequests.enqueueAll(
      tx,
      cleanups
        .filter(({ taskId }) => ordered.has(taskId.id))
        .map(({ taskId, message }) => ({ ...deployOf(taskId), timestamp: now, pendingType: 'TASK_BOUNCE', message })),
    );
  }
}

/** Which tasks are sick, and which of them can be judged. */
const stateOf = (sick: readonly FoundSick[]): string =>
  sick.map(({ task, isJudged }) => `${task.live.taskId.id} ${isJudged}`).join(' ');

function earliest({ waits }: ReplacementDecision): number | undefined {
  const ends = waits.flatMap(({ until }) => until ?? []);
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

const deployOf = ({ requestId, deployId }: TaskId) => ({ requestId, deployId });

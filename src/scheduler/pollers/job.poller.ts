import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { judgeRunTime, nextCheckAt, type RunTimeDecision } from '../../core/requests/run-times.js';
import { parseTaskId } from '../../core/task-id.js';
import { Rows } from '../../rows.js';
import type { LongRun } from '../../modules/tasks/long-run.repository.js';
import { concernsAll } from '../../platform/database/database-errors.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { RunTimes } from '../memory/run-times.service.js';
import { Wake } from '../../platform/wake/wake.js';
import { tellFailure } from '../../platform/tell-failure.js';

/** Runs that are read together. */
const mostAtOnce = 500;
/** Delay before a failed read is repeated. */
const againAfterMillis = 1_000;

/** Ends runs that take longer than they may, and logs once each of those that take longer than they should. */
@Injectable()
export class JobPoller {
  private readonly log = new Logger(JobPoller.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly times: RunTimes,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({
      name: 'jobs',
      everyMs: settings.checkJobsEveryMillis,
      takesKeys: true,
      wakeOn: ['jobs'],
      pass: (now, keys) => (keys ? this.runDue(now) : this.runOnce(now)),
    });
  }

  /** Looks at all runs, whether or not anything is known of them here. */
  async runOnce(now: number): Promise<number | undefined> {
    await this.judgeAll(await this.rows.longRuns.find(this.db.pool, this.settings, now), now);
    return this.runDue(now);
  }

  /** Looks at those whose time has come, and answers when the next one's does. */
  async runDue(now: number): Promise<number | undefined> {
    for (let due = this.take(now); due.length > 0; due = this.take(now)) {
      try {
        await this.judgeAll(await this.rows.longRuns.of(this.db.pool, due), now);
      } catch (cause) {
        for (const taskId of due) this.times.checkAgain(parseTaskId(taskId)!.requestId, taskId, now + againAfterMillis);
        this.times.plan();
        tellFailure(this.log, 'Run times cannot be looked at; they are again soon', cause);
        return now + againAfterMillis;
      }
    }
    return this.times.plan();
  }

  private take(now: number): string[] {
    return this.times.takeDue(now, mostAtOnce);
  }

  private async judgeAll(runs: readonly LongRun[], now: number): Promise<void> {
    for (const run of runs) {
      await this.judge(run, now).catch((cause: unknown) => {
        if (concernsAll(cause)) throw cause;
        tellFailure(this.log, `The run time of task '${run.taskId}' cannot be judged`, cause);
      });
    }
  }

  private async judge(found: LongRun, now: number): Promise<void> {
    const mustEnd = this.decide(found, now).kind === 'end';
    const run = mustEnd ? await this.endIfStillOver(found, now) : found;
    this.times.checkAgain(found.request.id, found.taskId, run && (await this.tellIfOverdue(run, now)));
  }

  private decide(run: LongRun, now: number): RunTimeDecision {
    return judgeRunTime(run.request, run, this.settings, now);
  }

  /** Answers the run as it is stored now if its limit was raised meanwhile; undefined: there is nothing more to judge. */
  private async endIfStillOver({ taskId, request }: LongRun, now: number): Promise<LongRun | undefined> {
    const goesOn = await this.db.leaderTransaction((tx) => this.end(tx, taskId, request.id, now));
    if (!goesOn) this.wake.signal('cleanup');
    return goesOn;
  }

  /** Answers when to look again. */
  private async tellIfOverdue(run: LongRun, now: number): Promise<number | undefined> {
    const decision = this.decide(run, now);
    if (decision.kind === 'overdue' && !run.told) {
      const isFirst = await this.db.leaderTransaction((tx) => this.report(tx, run, decision, now));
      if (isFirst) {
        this.warn(run.taskId, decision);
        this.wake.signal('mails');
      }
    }
    const told = run.told || decision.kind === 'overdue';
    return nextCheckAt(run.request, { ...run, told }, this.settings);
  }

  /** false: it ended meanwhile, or was told before. */
  private async report(
    tx: Transaction,
    { taskId, request, user }: LongRun,
    { runMillis, expectedMillis }: Extract<RunTimeDecision, { kind: 'overdue' }>,
    at: number,
  ): Promise<boolean> {
    if (!(await this.rows.longRuns.markOverdue(tx, taskId, at))) return false;
    const thresholdPercent = this.settings.warnIfScheduledJobIsRunningPastNextRunPct;
    const facts = { kind: 'task-overdue', runMillis, expectedMillis, thresholdPercent } as const;
    await this.rows.mailOutbox.queue(tx, [
      { type: 'TASK_SCHEDULED_OVERDUE_TO_FINISH', request, taskId, user, at, facts },
    ]);
    return true;
  }

  private warn(taskId: string, { runMillis, expectedMillis }: Extract<RunTimeDecision, { kind: 'overdue' }>): void {
    this.log.warn(
      `Task '${taskId}' is overdue: it has run for ${runMillis} ms, about ${expectedMillis} ms were expected`,
    );
  }

  /** Under the lock on its request. Answers the run if it may go on by what is stored now; undefined: it ends, or has ended. */
  private async end(tx: Transaction, taskId: string, requestId: string, now: number): Promise<LongRun | undefined> {
    await this.rows.requests.lock(tx, requestId);
    const [run] = await this.rows.longRuns.of(tx, [taskId]);
    if (!run) return undefined;
    const decision = this.decide(run, now);
    if (decision.kind !== 'end') return run;
    const { runMillis, limitMillis } = decision;
    await this.rows.taskCleanups.create(tx, {
      taskId: parseTaskId(taskId)!,
      cleanupType: 'TASK_EXCEEDED_TIME_LIMIT',
      timestamp: now,
      message: `Ran for ${runMillis} ms, more than the ${limitMillis} ms allowed`,
      actionId: randomUUID(),
    });
    return undefined;
  }
}

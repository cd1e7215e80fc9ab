import { Injectable, Logger } from '@nestjs/common';
import type { TaskState } from '../../core/model/enums.js';
import { SchedulerError } from '../../platform/errors.js';
import { Leadership, NotLeaderError } from '../../platform/leadership/leadership.js';
import { Wake } from '../../platform/wake/wake.js';
import { HistoryPurger } from '../history/history-purger.service.js';
import { Failovers, notLeader } from '../leadership/failovers.service.js';

/**
 * Operations of tests on the scheduler of this instance. Each fails with NotLeaderError where this instance does not
 * lead.
 */
export abstract class SchedulerControls {
  /** Applies a status as if the scheduler had concluded it. false: no such task is active. */
  abstract forceStatus(taskId: string, state: TaskState): Promise<boolean>;
  /** Begins to compare our tasks with those of the machines. */
  abstract startReconciliation(): void;
  /** Ends the connection to the machines and begins it anew, in the same epoch. */
  abstract reconnect(): Promise<void>;
}

/** Breaks this instance on purpose, as far as its operator allows it. */
@Injectable()
export class TestOperations {
  private readonly log = new Logger(TestOperations.name);

  constructor(
    private readonly leadership: Leadership,
    private readonly failovers: Failovers,
    private readonly scheduler: SchedulerControls,
    private readonly history: HistoryPurger,
    private readonly wake: Wake,
  ) {}

  abort(): Promise<void> {
    return this.failovers.abort('TEST_ABORT: a test operation');
  }

  loseLeadership(): Promise<void> {
    return this.failovers.abort('LOST_LEADERSHIP: a test operation');
  }

  gainLeadership(): Promise<void> {
    return this.leadership.takeOver();
  }

  stop(): void {
    this.leadership.suspend('told to stop by a test operation');
  }

  start(): void {
    this.leadership.resume();
  }

  reconnect(): Promise<void> {
    return this.asLeader(() => this.scheduler.reconnect());
  }

  reconcile(): Promise<void> {
    return this.asLeader(async () => this.scheduler.startReconciliation());
  }

  async forceStatus(taskId: string, state: TaskState): Promise<void> {
    const found = await this.asLeader(() => this.scheduler.forceStatus(taskId, state));
    if (!found) throw SchedulerError.taskNotFound(taskId);
    this.log.warn(`A test operation put task '${taskId}' into ${state}`);
  }

  /** All history, or that of requests or of deploys alone, whether or not it goes by itself. */
  async purgeHistory(of?: 'requests' | 'deploys'): Promise<void> {
    if (of === 'requests') return this.history.purgeRequests();
    if (of === 'deploys') return this.history.purgeDeploys();
    await this.history.purge();
    await this.history.purgeKeptRuns();
  }

  persistTaskHistory(): void {
    this.wake.signal('history');
  }

  fail(message = 'test exception'): never {
    throw new SchedulerError('TEST_EXCEPTION', 'An exception was asked for; the log has its message', {
      cause: new Error(message),
    });
  }

  private async asLeader<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof NotLeaderError) throw notLeader(await this.leadership.leaderAddress());
      throw cause;
    }
  }
}

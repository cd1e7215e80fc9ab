import { Inject, Injectable, Logger } from '@nestjs/common';
import { decideRemoval, isRefused, type BalancerRecords } from '../../core/load-balancer/index.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import type { LiveTask } from '../tasks/task.repository.js';
import { Rows } from '../../rows.js';
import { BalancedTasks, type ServedTask } from './balanced-tasks.service.js';
import { LoadBalancer, mostCallsAtOnce } from '../../platform/load-balancer/load-balancer.js';

interface Leaving {
  live: LiveTask;
  served: ServedTask;
  records: BalancerRecords;
}

/** Takes tasks off the load balancer that have ended, or that are killed once they are off. */
@Injectable()
export class RemovalPass {
  private readonly log = new Logger(RemovalPass.name);

  constructor(
    private readonly db: Database,
    private readonly loadBalancer: LoadBalancer,
    private readonly rows: Rows,
    private readonly balanced: BalancedTasks,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async run(now: number): Promise<void> {
    const tx = this.db.pool;
    const taskIds = await this.rows.loadBalancerRemovals.taskIds(tx);
    if (taskIds.length === 0) return;
    const live = await this.rows.tasks.find(tx, { taskIds, includeEnded: true });
    const served = await this.balanced.load(tx, live);
    const records = await this.rows.loadBalancerRecords.find(tx, taskIds);
    const leaving = live.flatMap((task): Leaving[] => {
      const of = served.get(task.taskId.id);
      return of && hasToLeave(task) ? [{ live: task, served: of, records: records.get(task.taskId.id)! }] : [];
    });
    const known = new Set(leaving.map((task) => task.live.taskId.id));
    for (const taskId of taskIds) if (!known.has(taskId)) await this.dropUnlessLeaving(taskId);
    await inParallel(leaving, mostCallsAtOnce, (task) => this.look(task, now));
  }

  private async look(task: Leaving, now: number): Promise<void> {
    const { live, served, records } = task;
    const grace = this.settings.loadBalancerRemovalGracePeriodMillis;
    const step = decideRemoval(live.taskId, records, grace, now);
    if (step.kind === 'wait') return;
    if (step.kind === 'done') return this.settle(task, records, undefined, now);
    const { request, deploy } = served;
    const answer =
      step.kind === 'poll'
        ? await this.loadBalancer.state(step.id)
        : await this.loadBalancer.enqueue(step.id, { request, deploy, add: [], remove: [served.task] });
    if (isRefused(answer)) this.report(live, answer);
    await this.settle(task, { ...records, remove: answer }, answer, now);
  }

  /** `answer` undefined: nothing was asked. */
  private async settle(
    { live: { taskId, endedAt }, records: former }: Leaving,
    records: BalancerRecords,
    answer: LoadBalancerUpdate | undefined,
    now: number,
  ): Promise<void> {
    const isDone =
      decideRemoval(taskId, records, this.settings.loadBalancerRemovalGracePeriodMillis, now).kind === 'done';
    await this.db.leaderTransaction(async (tx) => {
      const stillMatters =
        !answer || (await this.rows.loadBalancerRecords.saveAnswer(tx, taskId.id, 'REMOVE', former.remove, answer));
      if (stillMatters && isDone) await this.rows.loadBalancerRemovals.remove(tx, taskId.id);
    });
    if (isDone) this.wake.signalOf([taskId.requestId], endedAt === undefined ? 'cleanup' : 'history');
  }

  /** Its data is gone, or it need not go any more. */
  private dropUnlessLeaving(taskId: string): Promise<void> {
    return this.db.leaderTransaction(async (tx: Transaction) => {
      const [live] = await this.rows.tasks.find(tx, { taskIds: [taskId], includeEnded: true, lock: 'CHANGE' });
      const isKnown = live !== undefined && (await this.balanced.load(tx, [live])).has(taskId);
      // Where it listened is not known any more.
      if (!isKnown) await this.rows.loadBalancerRecords.forget(tx, [taskId]);
      if (!isKnown || !hasToLeave(live)) await this.rows.loadBalancerRemovals.remove(tx, taskId);
    });
  }

  private report({ taskId }: LiveTask, { loadBalancerState, message }: LoadBalancerUpdate): void {
    this.log.warn(`The load balancer still holds task '${taskId.id}': ${loadBalancerState}, ${message ?? ''}`);
  }
}

const hasToLeave = ({ endedAt, cleaning, killed }: LiveTask): boolean =>
  endedAt !== undefined || cleaning !== undefined || killed;

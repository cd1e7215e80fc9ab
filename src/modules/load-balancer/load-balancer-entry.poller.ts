import { Inject, Injectable } from '@nestjs/common';
import { decideEntry, type EnteringTask, type TrafficStep, preEnqueued } from '../../core/load-balancer/index.js';
import type { LoadBalancerUpdate } from '../../core/model/load-balancer.js';
import type { TaskId } from '../../core/model/task.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestRepository } from '../requests/request.repository.js';
import { CheckedTasks } from '../tasks/health/checked-tasks.service.js';
import { Rows } from '../../rows.js';
import type { LiveTask } from '../tasks/task.repository.js';
import { BalancedTasks } from './balanced-tasks.service.js';
import { LoadBalancerRecordRepository, type RecordKind } from '../tasks/balancing/load-balancer-record.repository.js';
import { LoadBalancer, mostCallsAtOnce } from '../../platform/load-balancer/load-balancer.js';

interface OutsideTask extends EnteringTask {
  live: LiveTask;
}

/** Reads what is decided from about tasks that do not get their traffic, or not for sure. */
@Injectable()
export class OutsideTasks {
  constructor(
    private readonly requests: RequestRepository,
    private readonly tasks: CheckedTasks,
    private readonly records: LoadBalancerRecordRepository,
  ) {}

  /** In the order of task ids. Tasks that have ended, or whose request or deploy is gone, are left out. */
  async load(tx: Queryable, taskIds: readonly string[]): Promise<OutsideTask[]> {
    const checked = await this.tasks.load(tx, taskIds);
    const records = await this.records.find(tx, taskIds);
    const requestIds = [...new Set(checked.map(({ live }) => live.taskId.requestId))];
    const requests = new Map((await this.requests.findMany(tx, requestIds)).map((found) => [found.request.id, found]));
    return checked.map(({ live, watched, context }) => {
      const stored = requests.get(live.taskId.requestId);
      return {
        live,
        task: watched,
        context,
        records: records.get(live.taskId.id)!,
        hasToGo: live.cleaning !== undefined || live.killed,
        activeDeployId: stored?.activeDeployId,
        pendingDeployId: stored?.pendingDeployId,
      };
    });
  }
}

/** Answer of the load balancer to a call, and the record that the call was made for. */
interface Answer {
  kind: RecordKind;
  former: LoadBalancerUpdate;
  update: LoadBalancerUpdate;
}

/** Brings tasks into the load balancer that no deploy in progress brings in. */
@Injectable()
export class EntryPass {
  constructor(
    private readonly db: Database,
    private readonly loadBalancer: LoadBalancer,
    private readonly rows: Rows,
    private readonly outside: OutsideTasks,
    private readonly balanced: BalancedTasks,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async run(now: number): Promise<void> {
    const tx = this.db.pool;
    const tasks = await this.outside.load(tx, await this.rows.loadBalancerRecords.tasksOutside(tx));
    await inParallel(tasks, mostCallsAtOnce, (task) => this.look(task, now));
  }

  private async look(outsider: OutsideTask, now: number): Promise<void> {
    const { live } = outsider;
    const entry = this.decide(outsider, now);
    switch (entry.kind) {
      case 'settled':
      case 'wait':
        return;
      case 'enqueue':
        return this.enter(live, now);
      case 'poll': {
        const update = await this.loadBalancer.state(entry.update.loadBalancerRequestId);
        return this.settle(live.taskId, { kind: entry.record, former: entry.update, update }, now);
      }
      case 'refused':
        return this.settle(live.taskId, undefined, now);
    }
  }

  /** Written down first: should the answer be lost, the task is known to be in there perhaps, and is taken out in the end. */
  private async enter(live: LiveTask, now: number): Promise<void> {
    const served = (await this.balanced.load(this.db.pool, [live])).get(live.taskId.id);
    const former = served && (await this.announce(live.taskId, now));
    if (!served || !former) return;
    const { request, deploy, task } = served;
    const change = { request, deploy, add: [task], remove: [] };
    const update = await this.loadBalancer.enqueue(former.loadBalancerRequestId, change);
    await this.settle(live.taskId, { kind: 'ADD', former, update }, now);
  }

  /** undefined: it need not, or must not, enter any more. */
  private announce(taskId: TaskId, now: number): Promise<LoadBalancerUpdate | undefined> {
    return this.db.leaderTransaction(async (tx) => {
      const entry = await this.lookAgain(tx, taskId, now);
      if (entry?.kind !== 'enqueue') return undefined;
      if (entry.anew) await this.rows.loadBalancerRecords.forget(tx, [taskId.id]);
      const update = preEnqueued(entry.id, now);
      await this.rows.loadBalancerRecords.save(tx, [taskId.id], 'ADD', update);
      return update;
    });
  }

  /** Writes the answer, unless the record is another one by now. A task that was not taken has to go. */
  private async settle(taskId: TaskId, answer: Answer | undefined, now: number): Promise<void> {
    const isRefused = await this.db.leaderTransaction(async (tx) => {
      await this.rows.requests.lock(tx, taskId.requestId);
      if (answer) {
        const { kind, former, update } = answer;
        if (!(await this.rows.loadBalancerRecords.saveAnswer(tx, taskId.id, kind, former, update))) return false;
      }
      const entry = await this.lookAgain(tx, taskId, now);
      if (entry?.kind !== 'refused') return false;
      const { message } = entry;
      await this.rows.taskCleanups.create(tx, { taskId, cleanupType: 'UNHEALTHY_NEW_TASK', timestamp: now, message });
      return true;
    });
    if (isRefused) this.wake.signalOf([taskId.requestId], 'cleanup', 'webhooks');
    // Tasks may be waiting for this one to take over.
    if (answer?.update.loadBalancerState === 'SUCCESS') this.wake.signalOf([taskId.requestId], 'cleanup');
  }

  /** Under the lock on its request: a transaction that orders it to go, or records its end, waits or was first. */
  private async lookAgain(tx: Transaction, taskId: TaskId, now: number): Promise<TrafficStep | undefined> {
    await this.rows.requests.lock(tx, taskId.requestId);
    const [outsider] = await this.outside.load(tx, [taskId.id]);
    return outsider && this.decide(outsider, now);
  }

  private decide(outsider: OutsideTask, now: number): TrafficStep {
    return decideEntry(outsider, this.settings.newTaskCheckerBaseDelaySeconds, now);
  }
}

/** Tasks enter the load balancer when they are healthy. */
@Injectable()
export class LoadBalancerEntryPoller {
  constructor(
    private readonly entries: EntryPass,
    private readonly loadBalancer: LoadBalancer,
    pollers: Pollers,
    @Inject(SETTINGS) { checkNewTasksEverySeconds }: Settings,
  ) {
    pollers.register({
      name: 'load-balancer-entry',
      everyMs: checkNewTasksEverySeconds * 1000,
      wakeOn: ['load-balancer'],
      pass: (now) => this.runOnce(now),
    });
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    if (this.loadBalancer.enabled) await this.entries.run(now);
  }
}

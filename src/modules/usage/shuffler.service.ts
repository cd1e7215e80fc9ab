import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { isRunnable, type RequestType } from '../../core/model/enums.js';
import { parseTaskId } from '../../core/task-id.js';
import {
  currentCpus,
  isOverUsed,
  shuffleTasks,
  type ShuffleMove,
  type ShuffleRules,
  type ShuffleSlave,
  type ShuffleTask,
} from '../../core/usage/index.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import type { LiveTask } from '../tasks/task.repository.js';
import type { SampledSlave } from './sampler.service.js';

/** Orders that tasks leave slaves that are overloaded. Each goes when its replacement is healthy. */
@Injectable()
export class Shuffler {
  private readonly log = new Logger(Shuffler.name);

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly actions: DisabledActions,
    private readonly wake: Wake,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async shuffle(sampled: readonly SampledSlave[], now: number): Promise<void> {
    if (!this.settings.shuffleTasksForOverloadedSlaves) return;
    const rules = shuffleRules(this.settings);
    const overloaded = sampled.filter(({ usage }) => isOverUsed(usage, rules));
    if (overloaded.length === 0 || (await this.actions.isDisabled('TASK_SHUFFLE'))) return;
    const [slaves, shuffling] = await this.db.snapshot(async (tx) => [
      await this.slaves(tx, overloaded),
      await this.rows.machineTasks.shuffling(tx),
    ]);
    for (const move of shuffleTasks(slaves, shuffling, rules, now)) {
      await this.db.leaderTransaction((tx) => this.order(tx, move, now));
      this.wake.signal('cleanup', 'scheduler');
    }
  }

  /** Does nothing when the task has ended, was told to go, or may not be moved any more, since it was looked at. */
  private async order(tx: Transaction, { taskId: id, cleanupType, message }: ShuffleMove, now: number) {
    const taskId = parseTaskId(id)!;
    const { requestId, deployId } = taskId;
    const stored = await this.rows.requests.lock(tx, requestId);
    if (!stored || !isRunnable(stored.state) || (await this.rows.shuffleBlacklist.has(tx, requestId))) return;
    const why = { timestamp: now, message, actionId: randomUUID() };
    if (!(await this.rows.taskCleanups.create(tx, { taskId, cleanupType, ...why }))) return;
    await this.rows.pendingRequests.enqueue(tx, { requestId, deployId, pendingType: 'TASK_BOUNCE', ...why });
    this.log.log(`Task '${id}' leaves its slave: ${message}`);
  }

  /** The slaves with what was sampled there and what else is known of those tasks. */
  private async slaves(tx: Transaction, sampled: readonly SampledSlave[]): Promise<ShuffleSlave[]> {
    const samples = new Map(sampled.flatMap(({ tasks }) => tasks.map((task) => [task.taskId, task] as const)));
    const live = await this.rows.tasks.find(tx, { taskIds: [...samples.keys()] });
    const types = await this.requestTypes(tx, live);
    const excluded = new Set(await this.rows.shuffleBlacklist.list(tx));
    const toTask = (task: LiveTask, requestType: RequestType): ShuffleTask => {
      const { id: taskId, requestId } = task.taskId;
      const sample = samples.get(taskId)!;
      return {
        taskId,
        requestId,
        requestType,
        excluded: excluded.has(requestId),
        runningAt: task.runningAt,
        leaving: task.killed || task.cleaning !== undefined,
        cpus: task.cpus,
        memoryMb: task.memoryMb,
        cpusUsed: currentCpus(sample),
        memoryBytes: sample.sample?.memoryTotalBytes ?? 0,
      };
    };
    return sampled.map(({ slaveId, usage }) => ({
      slaveId,
      usage,
      tasks: live.flatMap((task) => {
        const type = types.get(task.taskId.requestId);
        return type && task.slaveId === slaveId ? [toTask(task, type)] : [];
      }),
    }));
  }

  private async requestTypes(tx: Transaction, tasks: readonly LiveTask[]): Promise<Map<string, RequestType>> {
    const ids = [...new Set(tasks.map(({ taskId }) => taskId.requestId))];
    const found = await this.rows.requests.findMany(tx, ids);
    return new Map(found.map(({ request }) => [request.id, request.requestType]));
  }
}

const shuffleRules = (settings: Settings): ShuffleRules => ({
  loadMetric: settings.cluster.scoreUsingSystemLoad,
  memoryTarget: settings.shuffleTasksWhenSlaveMemoryUtilizationPercentageExceeds,
  minutesBeforeEligible: settings.minutesBeforeNewTaskEligibleForShuffle,
  maxTasksTotal: settings.maxTasksToShuffleTotal,
  maxTasksPerSlave: settings.maxTasksToShufflePerHost,
});

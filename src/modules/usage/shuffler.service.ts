import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { isRunnable } from '../../core/model/enums.js';
import { parseTaskId } from '../../core/task-id.js';
import { isOverUsed, shuffleTasks, type ShuffleMove } from '../../core/usage/index.js';
import { Database } from '../../platform/database/database.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Wake } from '../../platform/wake/wake.js';
import { RequestStore } from '../requests/request-store.service.js';
import { PendingQueue } from '../tasks/pending-queue.service.js';
import { TaskCleanups } from '../tasks/task-cleanups.service.js';
import { DisabledActions } from '../../platform/actions/disabled-actions.js';
import type { SampledSlave } from './sampler.service.js';
import { ShuffleScene } from './shuffle-scene.service.js';
import { shuffleRules } from './usage-rules.js';

/** Orders that tasks leave slaves that are overloaded. Each goes when its replacement is healthy. */
@Injectable()
export class Shuffler {
  private readonly log = new Logger(Shuffler.name);

  constructor(
    private readonly db: Database,
    private readonly scene: ShuffleScene,
    private readonly requests: RequestStore,
    private readonly cleanups: TaskCleanups,
    private readonly queue: PendingQueue,
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
      await this.scene.slaves(tx, overloaded),
      await this.scene.shuffling(tx),
    ]);
    for (const move of shuffleTasks(slaves, shuffling, rules, now)) {
      await this.db.leaderTransaction((tx) => this.order(tx, move, now));
      this.wake.signal('cleanup', 'scheduler');
    }
  }

  /** Does nothing when the task has ended, or was told to go, since it was looked at. */
  private async order(tx: EntityManager, { taskId: id, cleanupType, message }: ShuffleMove, now: number) {
    const taskId = parseTaskId(id)!;
    const { requestId, deployId } = taskId;
    const stored = await this.requests.lock(tx, requestId);
    if (!stored || !isRunnable(stored.state)) return;
    const why = { timestamp: now, message, actionId: randomUUID() };
    if (!(await this.cleanups.create(tx, { taskId, cleanupType, ...why }))) return;
    await this.queue.enqueue(tx, { requestId, deployId, pendingType: 'TASK_BOUNCE', ...why });
    this.log.log(`Task '${id}' leaves its slave: ${message}`);
  }
}

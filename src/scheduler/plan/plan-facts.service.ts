import { Inject, Injectable } from '@nestjs/common';
import type { PlanTask } from '../../core/plan/index.js';
import type { WorkRules } from '../../core/pending-work/index.js';
import { Rows } from '../../rows.js';
import { unchecked } from '../../modules/tasks/health/watched-task.repository.js';
import type { LiveTask } from '../../modules/tasks/task.repository.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { workRules } from '../rules.js';

export function planTaskOf(task: LiveTask): PlanTask {
  const { cleanupType, ...watched } = unchecked(task);
  return { ...watched, cleanup: cleanupType, slaveId: task.slaveId, rackId: task.rackId };
}

/** Rows of one request that a plan reads. */
interface PlanFacts {
  /** Active ones. How healthy they are does not matter: a plan asks what becomes of healthy new ones. */
  tasks: PlanTask[];
  pendingTaskCount: number;
  rules: WorkRules;
}

@Injectable()
export class PlanFactsLoader {
  constructor(
    private readonly rows: Rows,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(tx: Transaction, requestId: string): Promise<PlanFacts> {
    const live = await this.rows.tasks.find(tx, { requestIds: [requestId] });
    const tasks = live.map(planTaskOf);
    const rules = workRules(this.settings, await this.rows.slaves.list(tx));
    return { tasks, pendingTaskCount: await this.rows.pendingTasks.wantedCount(tx, requestId), rules };
  }
}

import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { PlanTask } from '../../core/plan/index.js';
import type { WorkRules } from '../../core/pending-work/index.js';
import { Machines } from '../../modules/slaves/machines.service.js';
import { LiveTasks } from '../../modules/tasks/live-tasks.service.js';
import { unchecked } from '../../modules/tasks/health/observed-tasks.service.js';
import { rows } from '../../platform/database/sql.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { workRules } from '../rules.js';

/** What a plan reads of one request. */
export interface PlanFacts {
  /** Active ones. How healthy they are does not matter: a plan asks what becomes of healthy new ones. */
  tasks: PlanTask[];
  pendingTaskCount: number;
  rules: WorkRules;
}

@Injectable()
export class PlanFactsLoader {
  constructor(
    private readonly tasks: LiveTasks,
    private readonly machines: Machines,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async load(tx: EntityManager, requestId: string): Promise<PlanFacts> {
    const live = await this.tasks.find(tx, { requestIds: [requestId] });
    const tasks = live.map((task) => {
      const { cleanupType, ...watched } = unchecked(task);
      return { ...watched, cleanup: cleanupType, slaveId: task.slaveId, rackId: task.rackId };
    });
    const [waiting] = await rows<{ tasks: number }>(
      tx,
      'SELECT count(*)::int AS tasks FROM pending_task WHERE request_id = $1 AND NOT delete_requested',
      [requestId],
    );
    const rules = workRules(this.settings, await this.machines.list(tx));
    return { tasks, pendingTaskCount: waiting!.tasks, rules };
  }
}

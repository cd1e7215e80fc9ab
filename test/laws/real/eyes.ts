import type { MachineState, PendingType, RequestState, TaskState } from '../../../src/core/model/enums.js';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request } from '../../../src/core/model/request.js';
import type { PendingTask } from '../../../src/core/model/task.js';
import { parseTaskId } from '../../../src/core/task-id.js';
import { TaskRepository } from '../../../src/modules/tasks/task.repository.js';
import type { SchedulerWorld } from '../../support/scheduler-world.js';
import { strategies } from '../world/strategies.js';
import type { SeenEnd, SeenMachine, SeenRequest, SeenTask, Sight } from '../world/world.js';

/** Reads what is committed. */
export class Eyes {
  private readonly endsSeen = new Set<string>();

  constructor(private readonly world: SchedulerWorld) {}

  async look(): Promise<Sight> {
    const [requests, deploys, machines, tasks, newEnds, pending, queue, orders] = await Promise.all([
      this.requests(),
      this.world.query<Pick<Deploy, 'requestId' | 'id' | 'deployStrategy'>>(
        `SELECT request_id AS "requestId", deploy_id AS id, data #>> '{deploy,deployStrategy}' AS "deployStrategy" FROM deploy_history`,
      ),
      this.machines(),
      this.tasks(),
      this.newEnds(),
      this.world.query<{ document: PendingTask }>('SELECT document FROM pending_task WHERE NOT delete_requested'),
      this.world.query<{ requestId: string; deployId: string; pendingType: PendingType }>(
        `SELECT request_id AS "requestId", deploy_id AS "deployId", pending_type AS "pendingType"
         FROM pending_request ORDER BY id`,
      ),
      this.world.query<{ text: string }>(
        `SELECT request_id || ' ' || cleanup_type AS text FROM request_cleanup
         UNION ALL SELECT cleanup_type || ' of ' || task_id FROM task_cleanup
         UNION ALL SELECT 'kill of ' || task_id FROM killed_task ORDER BY text`,
      ),
    ]);
    return {
      now: this.world.now,
      requests,
      oldFirst: strategies(deploys),
      machines,
      tasks,
      newEnds,
      pending: pending.map(({ document: { pendingTaskId, runId } }) => ({ ...pendingTaskId, runId })),
      queue,
      orders: orders.map(({ text }) => text),
    };
  }

  private async requests(): Promise<Map<string, SeenRequest>> {
    const found = await this.world.query<{
      document: Request;
      state: RequestState;
      active_deploy_id: string | null;
      pending_deploy_id: string | null;
      bouncing: boolean;
    }>('SELECT document, state, active_deploy_id, pending_deploy_id, bouncing FROM request ORDER BY id');
    return new Map(
      found.map((row) => [
        row.document.id,
        {
          request: row.document,
          state: row.state,
          activeDeployId: row.active_deploy_id ?? undefined,
          pendingDeployId: row.pending_deploy_id ?? undefined,
          bouncing: row.bouncing,
        },
      ]),
    );
  }

  private async machines(): Promise<Map<string, SeenMachine>> {
    const found = await this.world.query<{
      id: string;
      rack_id: string;
      incarnation: string;
      attributes: Record<string, string>;
      state: MachineState;
      rack_state: MachineState;
    }>(
      `SELECT s.id, s.rack_id, s.incarnation, s.attributes, s.state, coalesce(r.state, 'ACTIVE') AS rack_state
       FROM slave s LEFT JOIN rack r ON r.id = s.rack_id ORDER BY s.id`,
    );
    return new Map(
      found.map(({ id, rack_id: rackId, rack_state: rackState, ...row }) => [
        id,
        { slaveId: id, rackId, rackState, ...row },
      ]),
    );
  }

  private async tasks(): Promise<Map<string, SeenTask>> {
    const { pool } = this.world.db;
    const live = await this.world.get(TaskRepository).find(pool, { includeEnded: true });
    const planned = await this.world.query<{ task_id: string; at: string }>(
      `SELECT task_id, document #>> '{pendingTask,pendingTaskId,nextRunAt}' AS at FROM task_launch`,
    );
    const nextRunAt = new Map(planned.map(({ task_id, at }) => [task_id, Number(at)]));
    return new Map(
      live.map((task) => [
        task.taskId.id,
        { ...task, cleaning: task.cleaning !== undefined, nextRunAt: nextRunAt.get(task.taskId.id) ?? Number.NaN },
      ]),
    );
  }

  private async newEnds(): Promise<SeenEnd[]> {
    const found = await this.world.query<{
      task_id: string;
      run_id: string | null;
      updates: { taskState: TaskState; timestamp: number }[];
    }>(
      `SELECT task_id, run_id, data->'taskUpdates' AS updates FROM task_history
       WHERE task_id <> ALL ($1) ORDER BY task_id`,
      [[...this.endsSeen]],
    );
    for (const { task_id } of found) this.endsSeen.add(task_id);
    return found.map(({ task_id, run_id, updates }) => ({
      taskId: parseTaskId(task_id)!,
      runId: run_id ?? undefined,
      updates: updates.map(({ taskState, timestamp }) => ({ state: taskState, at: timestamp })),
    }));
  }
}

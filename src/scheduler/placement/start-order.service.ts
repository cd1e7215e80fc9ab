import { Injectable } from '@nestjs/common';
import { type InService, startWait } from '../../core/flows/index.js';
import type { Request } from '../../core/model/request.js';
import { TaskIdsByStatusService } from '../../modules/tasks/task-ids-by-status.service.js';
import type { Queryable } from '../../platform/database/queryable.js';
import { Rows } from '../../rows.js';

/** Services and workers that start after others. Works on every instance. */
@Injectable()
export class StartOrder {
  constructor(
    private readonly rows: Rows,
    private readonly taskIds: TaskIdsByStatusService,
  ) {}

  /** By id of those of these requests whose first start has to wait: for what, in words. Reads nothing where none names another. */
  async waits(tx: Queryable, requests: Iterable<Request>): Promise<Map<string, string>> {
    const ordered = [...requests].filter(({ startAfter }) => startAfter !== undefined);
    if (ordered.length === 0) return new Map();
    const ids = [...new Set(ordered.flatMap(({ id, startAfter }) => [id, ...startAfter!]))];
    const inService = await this.inService(tx, ids);
    return new Map(
      ordered.flatMap((request): [string, string][] => {
        const own = inService.get(request.id);
        const wait = own && startWait(own, inService);
        return wait === undefined ? [] : [[request.id, wait]];
      }),
    );
  }

  /** Those of these requests that are there. A service is in service by its health, a worker when it runs. */
  private async inService(tx: Queryable, ids: readonly string[]): Promise<Map<string, InService>> {
    const stored = await this.rows.requests.findMany(tx, ids);
    const workers = stored.filter(({ request }) => request.requestType === 'WORKER').map(({ request }) => request.id);
    const healthy = await this.taskIds.forRequests(tx, ids);
    const live = workers.length > 0 ? await this.rows.tasks.find(tx, { requestIds: workers }) : [];
    const running = live.filter(({ state, cleaning, killed }) => state === 'TASK_RUNNING' && !cleaning && !killed);
    return new Map(
      stored.map(({ request, state }) => {
        const tasks =
          request.requestType === 'WORKER'
            ? running.filter(({ taskId }) => taskId.requestId === request.id).length
            : healthy.get(request.id)!.healthy.length;
        return [request.id, { request, state, tasks }];
      }),
    );
  }
}

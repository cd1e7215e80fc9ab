import { Inject, Injectable } from '@nestjs/common';
import { type Measurement, usageOf } from '../../../core/autoscale/index.js';
import { httpNumber, prometheusNumber } from '../../../core/gates/index.js';
import { Clock } from '../../../platform/clock.js';
import { Database } from '../../../platform/database/database.js';
import { ServiceAsker } from '../../../platform/service-asker.js';
import { SETTINGS, type Settings } from '../../../platform/settings/settings.js';
import { Rows } from '../../../rows.js';
import { TaskIdsByStatusService } from '../../tasks/task-ids-by-status.service.js';
import type { StoredRequest } from '../request.repository.js';

/** Rounds of sampling after which the newest sample of a task is too old. */
const sampledRounds = 3;

/** The values of metrics, as of now. */
@Injectable()
export class AutoscaleMetrics {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly taskIds: TaskIdsByStatusService,
    private readonly asker: ServiceAsker,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /** undefined: nothing runs of which there could be one. Not in a transaction. */
  async measure({ request, state, activeDeployId }: StoredRequest): Promise<Measurement | undefined> {
    if (state !== 'ACTIVE' || activeDeployId === undefined) return undefined;
    const spec = request.autoscale!;
    const { metric } = spec;
    if (metric === 'CPU' || metric === 'MEMORY') return this.usage(metric, request.id, activeDeployId);
    const deploys = { requestId: request.id, deployId: activeDeployId, activeDeployId };
    const answer = await this.asker.ask({ ...spec, type: metric }, deploys, request.group);
    const number = metric === 'HTTP' ? httpNumber(spec, answer) : prometheusNumber(answer);
    return 'value' in number && number.value < 0 ? { problem: `the load cannot be ${number.value}` } : number;
  }

  /** As sampled by the room usage, of tasks that are healthy and stay. */
  private async usage(metric: 'CPU' | 'MEMORY', requestId: string, deployId: string): Promise<Measurement> {
    const pool = this.db.leaderPool;
    const [measured] = await this.rows.taskUsage.measured(pool, [requestId], 2);
    const healthy = (await this.taskIds.forRequests(pool, [requestId])).get(requestId)!.healthy;
    const own = new Set(healthy.filter((taskId) => taskId.deployId === deployId).map(({ id }) => id));
    if (own.size === 0) return { problem: 'none of its instances is healthy' };
    const tasks = measured?.tasks.filter(({ taskId }) => own.has(taskId)) ?? [];
    const oldest = this.clock.now() - sampledRounds * this.settings.checkUsageEveryMillis;
    return usageOf(metric, tasks, oldest);
  }
}

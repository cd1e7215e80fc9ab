import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  balancerServiceId,
  findExtraUpstreams,
  upstreamGroup,
  upstreamOf,
  type Upstream,
} from '../../core/load-balancer/index.js';
import type { Deploy } from '../../core/model/deploy.js';
import type { LoadBalancerRequestId } from '../../core/model/load-balancer.js';
import type { Request } from '../../core/model/request.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { Rows } from '../../rows.js';
import type { StoredRequest } from '../requests/request.repository.js';
import { BalancedTasks } from './balanced-tasks.service.js';
import { LoadBalancer, mostCallsAtOnce } from '../../platform/load-balancer/load-balancer.js';

const pollMillis = 1_000;
/** A removal that takes longer goes on by itself; the next check sees what came of it. */
const mostPolls = 60;

/** Removes upstreams behind which there is no task: left over from a crash, or from a machine that came back without its tasks. */
@Injectable()
export class UpstreamCheckPoller implements OnModuleDestroy {
  private readonly log = new Logger(UpstreamCheckPoller.name);
  private readonly closing = new AbortController();

  constructor(
    private readonly db: Database,
    private readonly loadBalancer: LoadBalancer,
    private readonly rows: Rows,
    private readonly balanced: BalancedTasks,
    pollers: Pollers,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({
      name: 'upstream-check',
      runsWhile: 'RUN_UPSTREAM_POLLER',
      everyMs: settings.checkUpstreamsEverySeconds * 1000,
      pass: (now) => this.runOnce(now),
    });
  }

  onModuleDestroy(): void {
    this.closing.abort();
  }

  /** One pass. Public so that a test runs it with its own `now`. */
  async runOnce(now: number): Promise<void> {
    if (!this.loadBalancer.enabled) return;
    const stored = await this.rows.requests.findAll(this.db.pool, ['ACTIVE', 'DEPLOYING_TO_UNPAUSE']);
    const serving = stored.filter(({ request, activeDeployId }) => request.loadBalanced && activeDeployId);
    await inParallel(serving, mostCallsAtOnce, (request) => this.check(request, now));
  }

  private async check({ request, activeDeployId }: StoredRequest, now: number): Promise<void> {
    const requestId = request.id;
    const deployId = activeDeployId!;
    const deploy = (await this.rows.deploys.find(this.db.pool, { requestId, deployId }))?.deploy;
    if (!deploy) return;
    // Before the tasks: one that enters meanwhile is known then, and not taken for a leftover.
    const present = await this.loadBalancer.upstreams(balancerServiceId(requestId, deploy));
    const id: LoadBalancerRequestId = {
      id: `${requestId}-${deployId}-${now}`,
      requestType: 'REMOVE',
      attemptNumber: 1,
    };
    const check = findExtraUpstreams(present, await this.wanted(requestId, id), upstreamGroup(deploy));
    if (check.kind === 'nothing') return;
    const listed = check.extra.map(({ upstream }) => upstream).join(', ');
    if (check.kind === 'refuse') {
      this.log.error(`None of the upstreams of request '${requestId}' is known here, nothing is removed: ${listed}`);
      return;
    }
    this.log.warn(`Request '${requestId}' has upstreams without tasks, they are removed: ${listed}`);
    await this.remove(id, request, deploy, check.extra);
  }

  /**
   * Addresses of all tasks that are active, whatever their health: the last thing to do is to cut one off that serves.
   */
  private async wanted(requestId: string, id: LoadBalancerRequestId): Promise<Upstream[]> {
    const live = await this.rows.tasks.find(this.db.pool, { requestIds: [requestId] });
    const served = await this.balanced.load(this.db.pool, live);
    return [...served.values()].flatMap(({ task }) => upstreamOf(task, id, this.settings) ?? []);
  }

  private async remove(
    id: LoadBalancerRequestId,
    request: Request,
    deploy: Deploy,
    extra: readonly Upstream[],
  ): Promise<void> {
    let update = await this.loadBalancer.removeUpstreams(id, { request, deploy }, extra);
    const { signal } = this.closing;
    for (let polls = 0; update.loadBalancerState === 'WAITING' && polls < mostPolls && !signal.aborted; polls++) {
      // Woken early at the end of the process, and then done.
      await sleep(pollMillis, undefined, { signal }).catch(() => undefined);
      update = await this.loadBalancer.state(id);
    }
    const { loadBalancerState, message } = update;
    if (loadBalancerState !== 'SUCCESS') {
      this.log.warn(`Upstreams of request '${request.id}' were not removed: ${loadBalancerState}, ${message ?? ''}`);
    }
  }
}

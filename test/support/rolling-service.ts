import type { Type } from '@nestjs/common';
import type { TaskScript } from './simulated-cluster/script.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { DeployRepository } from '../../src/modules/deploys/deploy.repository.js';
import { DeploysModule } from '../../src/modules/deploys/deploys.module.js';
import { DeploysPoller } from '../../src/modules/deploys/deploys.poller.js';
import { DeploysService } from '../../src/modules/deploys/deploys.service.js';
import { GatesPoller } from '../../src/modules/deploys/gates/gates.poller.js';
import { LoadBalancerCleanupPoller } from '../../src/modules/load-balancer/load-balancer-cleanup.poller.js';
import { LoadBalancerModule } from '../../src/modules/load-balancer/load-balancer.module.js';
import { RequestsService } from '../../src/modules/requests/requests.service.js';
import { CleanupModule } from '../../src/modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../src/modules/tasks/cleanup/cleanup.poller.js';
import { TaskIdsByStatusService } from '../../src/modules/tasks/task-ids-by-status.service.js';
import type { Settings } from '../../src/platform/settings/settings.js';
import { SchedulerWorld } from './scheduler-world.js';
import { builtInUser } from '../../src/core/authorization/index.js';

export const caller = { ...builtInUser, id: 'ann' };

/** Requests, deploys, cleanup and the scheduler together, on a simulated cluster and a virtual clock. */
export class RollingService {
  /** Least number of tasks of 'web' that was seen serving: healthy, whether they have to go some day or not. */
  leastServing = Number.POSITIVE_INFINITY;
  private script: (deployId: string) => TaskScript = () => ({});

  private constructor(readonly world: SchedulerWorld) {
    world.cluster.onLaunch((spec) => this.script(spec.taskId.split('-')[1]!));
  }
  static async start(settings: Partial<Settings> = {}, further: Type[] = []): Promise<RollingService> {
    const modules = [DeploysModule, CleanupModule, LoadBalancerModule, ...further];
    return new RollingService(await SchedulerWorld.start({ machines: 2, modules, settings }));
  }

  /** Sets the behaviour of the tasks of a deploy. */
  behave(script: (deployId: string) => TaskScript): void {
    this.script = script;
  }

  save(request: Partial<Request> = {}) {
    return this.world
      .get(RequestsService)
      .saveRequest({ id: 'web', requestType: 'SERVICE', instances: 3, ...request }, caller);
  }

  deploy(id: string, changes: Partial<Deploy> = {}) {
    const deploy = { id, requestId: 'web', command: 'serve', objstoreUploaderAdditionalFiles: [], ...changes };
    return this.world
      .get(DeploysService)
      .start({ deploy, unpauseOnSuccessfulDeploy: false, largeScaleDownAcknowledged: false }, caller);
  }

  cancel(deployId: string) {
    return this.world.get(DeploysService).cancel({ requestId: 'web', deployId }, caller);
  }

  /** Lets virtual seconds pass; every poller looks four times in each. */
  async run(seconds: number): Promise<void> {
    for (let quarter = 0; quarter < seconds * 4; quarter++) {
      await this.world.pass();
      await this.world.get(DeploysPoller).runOnce(this.world.now);
      await this.world.get(GatesPoller).runOnce(this.world.now);
      await this.world.get(CleanupPoller).runOnce(this.world.now);
      await this.world.get(LoadBalancerCleanupPoller).runOnce(this.world.now);
      await this.world.pass();
      this.leastServing = Math.min(this.leastServing, await this.serving());
      await this.world.cluster.advance(250);
    }
  }

  /** Deploy ids of the healthy tasks. */
  async healthy(): Promise<string[]> {
    const found = await this.world.get(TaskIdsByStatusService).forRequests(this.world.db.pool, ['web']);
    return found.get('web')!.healthy.map(({ deployId }) => deployId);
  }

  private async serving(): Promise<number> {
    const provenBefore = this.world.now - 5_000;
    const tasks = await this.world.active('web');
    return tasks.filter((task) => !task.killed && task.runningAt !== undefined && task.runningAt <= provenBefore)
      .length;
  }

  async running(): Promise<string[]> {
    return (await this.world.active('web')).map(({ taskId }) => taskId.deployId);
  }

  async pending() {
    return (await this.world.get(DeployRepository).findPending(this.world.db.pool, ['web']))[0];
  }

  async result(deployId: string) {
    return (await this.world.get(DeployRepository).find(this.world.db.pool, { requestId: 'web', deployId }))?.result;
  }
}

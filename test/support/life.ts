import type { Deploy } from '../../src/core/model/deploy.js';
import type { Request } from '../../src/core/model/request.js';
import { DeploysModule } from '../../src/modules/deploys/deploys.module.js';
import { DeploysPoller } from '../../src/modules/deploys/deploys.poller.js';
import { DeploysService, type StartDeploy } from '../../src/modules/deploys/deploys.service.js';
import { ExpiringPoller } from '../../src/modules/requests/expiring/expiring.poller.js';
import { RequestRepository } from '../../src/modules/requests/request.repository.js';
import { RequestsService } from '../../src/modules/requests/requests.service.js';
import { CleanupModule } from '../../src/modules/tasks/cleanup/cleanup.module.js';
import { CleanupPoller } from '../../src/modules/tasks/cleanup/cleanup.poller.js';
import { SchedulerWorld, type WorldOptions } from './scheduler-world.js';
import { builtInUser } from '../../src/core/authorization/index.js';

export const ann = { ...builtInUser, id: 'ann', email: 'ann@example.com' };

/** Requests, deploys, cleanup, what lapses and the scheduler together, on a simulated cluster and a virtual clock. */
export class Life {
  private constructor(readonly world: SchedulerWorld) {}

  static async begin({ modules = [], ...options }: WorldOptions = {}): Promise<Life> {
    const rooms = [DeploysModule, CleanupModule, ...modules];
    const life = new Life(await SchedulerWorld.start({ machines: 3, ...options, modules: rooms }));
    await life.world.cluster.advance(0);
    return life;
  }

  get<T>(type: abstract new (...args: never[]) => T): T {
    return this.world.get(type);
  }

  close(): Promise<void> {
    return this.world.close();
  }

  save(id: string, changes: Partial<Request> = {}) {
    return this.get(RequestsService).saveRequest({ id, requestType: 'SERVICE', ...changes }, ann);
  }

  deploy(requestId: string, id: string, changes: Partial<StartDeploy> = {}) {
    const deploy: Deploy = { id, requestId, command: 'serve', resources: { cpus: 0.01, memoryMb: 1 } };
    const defaults = { unpauseOnSuccessfulDeploy: false, largeScaleDownAcknowledged: true };
    return this.get(DeploysService).start({ deploy, ...defaults, ...changes }, ann);
  }

  /** Lets virtual time pass; every poller looks once in each step. `look` is called in between. */
  async run(seconds: number, stepMillis = 1_000, look: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    for (let millis = 0; millis < seconds * 1_000; millis += stepMillis) {
      await this.step();
      await look();
      await this.world.cluster.advance(stepMillis);
    }
  }

  /** Everything that the leader does at one moment. */
  async step(): Promise<void> {
    const { now } = this.world;
    await this.world.pass();
    await this.get(DeploysPoller).runOnce(now);
    await this.get(ExpiringPoller).runOnce(now);
    await this.get(CleanupPoller).runOnce(now);
    await this.world.pass();
  }

  async until(what: string, holds: () => Promise<boolean>, mostSeconds = 60): Promise<void> {
    for (let second = 0; second < mostSeconds; second++) {
      if (await holds()) return;
      await this.run(1);
    }
    throw new Error(`Not within ${mostSeconds} virtual seconds: ${what}`);
  }

  /** undefined: there is no such request (any more). */
  async state(id: string) {
    return (await this.get(RequestRepository).find(this.world.db.pool, id))?.state;
  }

  /** Newest first: type, user and message. */
  async history(id: string): Promise<[string, string | null, string | null][]> {
    const found = await this.world.query<{ event_type: string; user_name: string | null; message: string | null }>(
      `SELECT event_type, user_name, message FROM request_history WHERE request_id = $1
       ORDER BY created_at DESC`,
      [id],
    );
    return found.map((event) => [event.event_type, event.user_name, event.message]);
  }

  async events(id: string): Promise<string[]> {
    return (await this.history(id)).map(([type]) => type);
  }
}

import { readFileSync } from 'node:fs';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request } from '../../../src/core/model/request.js';
import { portsOf, type Api } from '../../e2e/support/api.js';
import { Installation } from '../../e2e/support/product.js';
import { startBalancer, type BalancerServer } from '../../support/load-balancer/balancer-server.js';
import { balancerBefore, Nginx } from '../../support/load-balancer/nginx.js';
import { startReceiver, type HttpReceiver } from '../../support/http-receiver.js';
import { waitFor } from '../../support/wait-for.js';

const example = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../../examples/balanced/${name}.json`, import.meta.url), 'utf8')) as T;

export const service = 'balanced';
/** Calls per second that one instance can take, for autoscaling. */
export const instanceLoad = 100;

/** The product, a load balancer that speaks its protocol, and the proxy that this one sets up; all of them real processes. */
export class Stage {
  private constructor(
    private readonly nginx: Nginx,
    private readonly balancer: BalancerServer,
    private readonly loadSource: HttpReceiver,
    private readonly installation: Installation,
    readonly api: Api,
  ) {}

  static async build(): Promise<Stage> {
    const nginx = await Nginx.start();
    const balancer = await startBalancer(balancerBefore(nginx));
    const loadSource = await startReceiver();
    const installation = new Installation({
      hostname: '127.0.0.1',
      settings: {
        gates: { allowedTargets: ['127.0.0.1'] },
        checkAutoscaleEverySeconds: 1,
        loadBalancerUri: balancer.uri,
        loadBalancerRequestTimeoutMillis: 20_000,
        // Calls that the proxy had passed on already come to their end.
        loadBalancerRemovalGracePeriodMillis: 500,
      },
    });
    const { api } = await installation.start();
    return new Stage(nginx, balancer, loadSource, installation, api);
  }

  get url(): string {
    return `${this.nginx.url}/${service}/`;
  }

  saveRequest = (changes: Partial<Request> = {}) =>
    this.api.saveRequest({ ...example<Request>('request'), ...changes });

  /** From now on autoscaling finds so many calls per second. */
  tellLoad(load: number): string {
    this.loadSource.answer = (_call, response) => response.end(String(load));
    return this.loadSource.url;
  }

  deploy = (id: string) => this.api.deploy({ ...example<{ deploy: Deploy }>(`deploy-${id}`).deploy, id });

  /** Exactly these many tasks run, all of one version, and the proxy sends calls to them and to no others. */
  async settled(count: number, version: string, without: readonly string[] = []): Promise<string[]> {
    return waitFor(
      `${count} tasks of ${version} behind the proxy`,
      async () => {
        const tasks = await this.api.running(service, count, 120_000);
        const ids = tasks.map(({ taskId }) => taskId.id);
        if (tasks.some(({ taskId }) => taskId.deployId !== version) || ids.some((id) => without.includes(id))) return;
        const upstreams = tasks.flatMap(portsOf).map((port) => `127.0.0.1:${port}`);
        const served = this.balancer.balancer.upstreams(service);
        return JSON.stringify(upstreams.toSorted()) === JSON.stringify(served) ? ids : undefined;
      },
      { timeoutMillis: 120_000, everyMillis: 200 },
    );
  }

  async close(): Promise<void> {
    await this.installation.dispose();
    await this.loadSource.close();
    await this.balancer.close();
    await this.nginx.stop();
  }
}

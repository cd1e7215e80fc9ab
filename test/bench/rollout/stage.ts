import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request, RequestParent } from '../../../src/core/model/request.js';
import { portsOf, type Api } from '../../e2e/support/api.js';
import { program } from '../../e2e/support/muster-command.js';
import { Installation } from '../../e2e/support/product.js';
import { startBalancer, type BalancerServer } from '../../support/load-balancer/balancer-server.js';
import { balancerBefore, Nginx } from '../../support/load-balancer/nginx.js';
import { startReceiver } from '../../support/http-receiver.js';
import { ExampleProxy, isInstalled } from '../../support/proxies/example-proxy.js';
import { readers } from '../../support/proxies/readers.js';
import { tempFolder } from '../../support/temp-folder.js';
import { waitFor } from '../../support/wait-for.js';

const exampleFile = (name: string): URL => new URL(`../../../examples/balanced/${name}.json`, import.meta.url);
const example = <T>(name: string): T => JSON.parse(readFileSync(exampleFile(name), 'utf8')) as T;

const serviceProgram = readFileSync(new URL('service.cjs', import.meta.url), 'utf8');

/** Calls per second that one instance can take, for autoscaling. */
export const instanceLoad = 100;

/** A service with a proxy of its own in front of it. */
export interface Front {
  service: string;
  proxy: string;
  url: string;
  /** Addresses of tasks to which the proxy sends calls, as host:port. */
  upstreams: () => string[];
  /** What makes the service another one than that of the example. */
  request: Partial<Request>;
  deploy: Partial<Deploy>;
  /** From now on autoscaling and gates find this number, at the address that it answers. */
  tell: (number: number) => string;
}

export const isStageInstalled = (): boolean => Nginx.isInstalled() && isInstalled('haproxy');

/**
 * The product; a load balancer that speaks its protocol, and nginx, which this one sets up; HAProxy, which follows `muster endpoints`.
 * All of them are real processes.
 */
export class Stage {
  private constructor(
    readonly fronts: readonly Front[],
    readonly api: Api,
    private readonly parts: { close(): unknown }[],
  ) {}

  static async build(): Promise<Stage> {
    const parts: { close(): unknown }[] = [];
    try {
      const nginx = await Nginx.start();
      parts.unshift({ close: () => nginx.stop() });
      const balancer = await startBalancer(balancerBefore(nginx));
      parts.unshift(balancer);
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
      parts.unshift({ close: () => installation.dispose() });
      const { api } = await installation.start();
      const followed = await followedFront(api, parts);
      return new Stage([balancedFront(nginx, balancer, await numberSource(parts)), followed], api, parts);
    } catch (cause) {
      for (const part of parts) await part.close();
      throw cause;
    }
  }

  saveRequest = ({ service, request }: Front, changes: Partial<Request> = {}) =>
    this.api.saveRequest({ ...example<Request>('request'), id: service, ...request, ...changes });
  /** As the example has this version, or its second one, with checks that go on. */
  deploy({ service, deploy }: Front, id: string, changes: Partial<Deploy> = {}): Promise<RequestParent> {
    const file = existsSync(exampleFile(`deploy-${id}`)) ? `deploy-${id}` : 'deploy-v2';
    const { deploy: given } = example<{ deploy: Deploy }>(file);
    return this.api.deploy({
      ...given,
      arguments: ['-e', serviceProgram],
      healthcheck: {
        ...given.healthcheck,
        liveness: { uri: '/live', intervalSeconds: 1, failureThreshold: 3, timeoutSeconds: 5 },
      },
      ...deploy,
      id,
      requestId: service,
      ...changes,
    });
  }

  deployOldFirst = (front: Front, id: string, version: string, maxUnavailable: number) =>
    this.deploy(front, id, { env: { VERSION: version }, deployStrategy: 'OLD_FIRST', maxUnavailable });

  /** Approves each MANUAL gate that waits until the deploy has ended; answers how many did. */
  async approveAll({ service }: Front, id: string): Promise<number> {
    let approved = 0;
    await waitFor(
      `the end of ${id} of ${service}`,
      async () => {
        const { deployResult, gates } = await this.api.deployHistory(service, id);
        if (deployResult) return true;
        const waiting = gates?.find(({ type, state }) => type === 'MANUAL' && state === 'WAITING');
        if (!waiting) return false;
        const { step, gate } = waiting;
        await this.api.post(`deploys/deploy/${id}/request/${service}/approve`, { step, gate });
        approved += 1;
        return false;
      },
      { timeoutMillis: 120_000 },
    );
    return approved;
  }

  bounce = ({ service }: Front) => this.api.post(`requests/request/${service}/bounce`);

  async scaledTo(front: Front, instances: number, version: string): Promise<void> {
    await this.api.call('PUT', `requests/request/${front.service}/scale`, { instances });
    await this.settled(front, instances, version);
  }

  /** Makes a task fail its liveness checks. */
  async sicken(front: Front, taskId: string): Promise<void> {
    const task = (await this.api.activeTasks(front.service)).find((one) => one.taskId.id === taskId);
    await fetch(`http://127.0.0.1:${portsOf(task!)[0]}/sick`);
  }

  /** Number of tasks that have not ended. */
  live = async ({ service }: Front): Promise<number> => (await this.api.activeTasks(service)).length;

  /** Exactly these many tasks run, all of one version, and the proxy sends calls to them and to no others. */
  async settled(front: Front, count: number, version: string, without: readonly string[] = []): Promise<string[]> {
    return waitFor(
      `${count} tasks of ${version} behind ${front.proxy}`,
      async () => {
        const tasks = await this.api.running(front.service, count, 120_000);
        const ids = tasks.map(({ taskId }) => taskId.id);
        if (tasks.some(({ taskId }) => taskId.deployId !== version) || ids.some((id) => without.includes(id))) return;
        const upstreams = tasks.flatMap(portsOf).map((port) => `127.0.0.1:${port}`);
        return JSON.stringify(upstreams.toSorted()) === JSON.stringify(front.upstreams()) ? ids : undefined;
      },
      { timeoutMillis: 120_000, everyMillis: 200 },
    );
  }

  async close(): Promise<void> {
    for (const part of this.parts) await part.close();
  }
}

async function numberSource(parts: { close(): unknown }[]): Promise<Front['tell']> {
  const receiver = await startReceiver();
  parts.push(receiver);
  return (number) => {
    receiver.answer = (_call, response) => response.end(String(number));
    return receiver.url;
  };
}

const balancedFront = (nginx: Nginx, balancer: BalancerServer, tell: Front['tell']): Front => ({
  service: 'balanced',
  proxy: 'nginx',
  url: `${nginx.url}/balanced/`,
  upstreams: () => balancer.balancer.upstreams('balanced'),
  request: {},
  deploy: {},
  tell,
});

async function followedFront(api: Api, parts: { close(): unknown }[]): Promise<Front> {
  const folder = tempFolder();
  parts.push({ close: () => folder.remove() });
  const file = ExampleProxy.fileOf('haproxy');
  const path = join(folder.path, file);
  writeFileSync(path, 'backend followed\n');
  const proxy = await ExampleProxy.start('haproxy', folder.path, 'followed');
  parts.unshift({ close: () => proxy.stop() });
  const front: Front = {
    service: 'followed',
    proxy: 'HAProxy',
    url: proxy.url,
    upstreams: () => readers.HAPROXY(readFileSync(path, 'utf8'))['followed']!.toSorted(),
    request: { loadBalanced: false },
    deploy: {
      loadBalancerGroups: [],
      // Until the proxy knows that the task leaves.
      preStop: { command: 'sleep 3' },
      killGracePeriodMillis: 10_000,
    },
    tell: await numberSource(parts),
  };
  await api.saveRequest({ ...example<Request>('request'), id: front.service, ...front.request });
  const words = ['endpoints', front.service, '--format', 'haproxy', '--output', file, '--watch'];
  const watch: ChildProcess = spawn(process.execPath, [program, ...words, '--exec', ExampleProxy.reloadOf('haproxy')], {
    cwd: folder.path,
    env: { ...process.env, MUSTER_URL: api.url },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  parts.unshift({ close: () => watch.kill('SIGKILL') });
  return front;
}

import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../../e2e/support/api.js';
import { Installation } from '../../e2e/support/product.js';
import { tempFolder } from '../../support/temp-folder.js';
import { waitFor } from '../../support/wait-for.js';

/** A service whose tasks all fail at once. */
export interface BrokenService {
  service: string;
  instances: number;
  maxUnhealthyReplacements: number;
  /** Over all looks while the dependency was away. */
  mostReplacedAtOnce: number;
  fewestOldTasks: number;
  looks: number;
  /** Tasks that the service has in the end, all healthy, and those of them that were there before. */
  healthyInTheEnd: number;
  oldInTheEnd: number;
}

const services = [
  { service: 'ten', instances: 10, maxUnhealthyReplacements: undefined, limit: 1 },
  { service: 'twenty', instances: 20, maxUnhealthyReplacements: undefined, limit: 2 },
  { service: 'eager', instances: 6, maxUnhealthyReplacements: 3, limit: 3 },
];
const sampleEveryMillis = 100;
const often = { intervalSeconds: 1, startupIntervalSeconds: 1, startupDelaySeconds: 0 };

/**
 * Services whose liveness checks ask one dependency, on the built product with an agent: the dependency breaks, stays away for so long, and
 * comes back.
 */
export async function breakDependency(
  options: ConstructorParameters<typeof Installation>[0],
  seconds: number,
): Promise<BrokenService[]> {
  const folder = tempFolder();
  // Tasks of other users look here.
  chmodSync(folder.path, 0o755);
  const broken = join(folder.path, 'broken');
  const installation = new Installation(options);
  try {
    const { api } = await installation.start();
    await Promise.all(services.map((service) => deploy(api, service, broken)));
    const watches = await Promise.all(services.map((service) => Watch.begin(api, service)));
    writeFileSync(broken, '');
    await Promise.all(watches.map((watch) => watch.lookFor(seconds)));
    rmSync(broken);
    return await Promise.all(watches.map((watch) => watch.end()));
  } finally {
    await installation.dispose();
    folder.remove();
  }
}

type Service = (typeof services)[number];

async function deploy(api: Api, { service, instances, maxUnhealthyReplacements }: Service, broken: string) {
  await api.saveRequest({ id: service, requestType: 'SERVICE', instances });
  await api.deploy({
    requestId: service,
    id: 'v1',
    command: 'exec sleep 3600',
    resources: { cpus: 0.02, memoryMb: 16 },
    healthcheck: {
      type: 'COMMAND',
      command: `test ! -e ${broken}`,
      ...often,
      liveness: {
        intervalSeconds: 1,
        failureThreshold: 2,
        ...(maxUnhealthyReplacements && { maxUnhealthyReplacements }),
      },
    },
  });
  const { deployResult } = await api.deployEnded(service, 'v1', 120_000);
  if (deployResult?.deployState !== 'SUCCEEDED') throw new Error(JSON.stringify(deployResult));
}

class Watch {
  private mostReplacedAtOnce = 0;
  private fewestOldTasks = Number.POSITIVE_INFINITY;
  private looks = 0;

  private constructor(
    private readonly api: Api,
    private readonly of: Service,
    private readonly old: ReadonlySet<string>,
  ) {}

  static async begin(api: Api, of: Service): Promise<Watch> {
    const tasks = await api.running(of.service, of.instances, 60_000);
    return new Watch(api, of, new Set(tasks.map(({ taskId }) => taskId.id)));
  }

  async lookFor(seconds: number): Promise<void> {
    for (const until = performance.now() + seconds * 1_000; performance.now() < until; await delay(sampleEveryMillis)) {
      const { cleaning, healthy, all } = await this.tasks();
      const standing = [...this.old].filter((id) => all.has(id) && !cleaning.has(id));
      const replacements = [...healthy].filter((id) => !this.old.has(id) && !cleaning.has(id));
      const replaced = this.old.size - standing.length - replacements.length;
      this.mostReplacedAtOnce = Math.max(this.mostReplacedAtOnce, replaced);
      this.fewestOldTasks = Math.min(this.fewestOldTasks, [...this.old].filter((id) => all.has(id)).length);
      this.looks += 1;
    }
  }

  /** Everything is healthy again, and nothing is being replaced. */
  async end(): Promise<BrokenService> {
    const { service, instances, limit } = this.of;
    const healthy = await waitFor(
      `health of ${service}`,
      async () => {
        const now = await this.tasks();
        const isSettled = now.healthy.size === instances && now.all.size === instances && now.cleaning.size === 0;
        const { unhealthyTasks } = await this.api.get<{ unhealthyTasks?: unknown[] }>(
          `requests/request/${service}/explain`,
        );
        return isSettled && unhealthyTasks === undefined && now.healthy;
      },
      { timeoutMillis: 180_000, everyMillis: 500 },
    );
    return {
      service,
      instances,
      maxUnhealthyReplacements: limit,
      mostReplacedAtOnce: this.mostReplacedAtOnce,
      fewestOldTasks: this.fewestOldTasks,
      looks: this.looks,
      healthyInTheEnd: healthy.size,
      oldInTheEnd: [...this.old].filter((id) => healthy.has(id)).length,
    };
  }

  /** Ids of its tasks, as one answer has them. */
  private async tasks(): Promise<Record<'cleaning' | 'healthy' | 'all', Set<string>>> {
    const { taskIds } = await this.api.request(this.of.service);
    const { cleaning, healthy, notYetHealthy, killed } = taskIds!;
    const ids = (lists: { id: string }[][]) => new Set(lists.flat().map(({ id }) => id));
    return {
      cleaning: ids([cleaning, killed]),
      healthy: ids([healthy]),
      all: ids([cleaning, healthy, notYetHealthy, killed]),
    };
  }
}

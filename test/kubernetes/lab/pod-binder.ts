import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesList, Node, Pod } from '../../../src/cluster/kubernetes/objects.js';
import type { Lab } from './lab.js';

const podsPath = '/api/v1/namespaces/muster/pods';
const lookEveryMillis = 100;

/**
 * In place of kube-scheduler, which labs do not have: pods of a DaemonSet go to the node that they are for, others by turns to the nodes
 * that are not cordoned. Those of tasks have their node when they are made.
 */
export class PodBinder {
  /** Keeps pods that are made now without a node. */
  isHeld = false;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private turn = 0;

  /** `labelSelector`: of the pods that it binds; absent: all of the namespace. */
  constructor(
    private readonly lab: Lab,
    private readonly labelSelector?: string,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const query = { fieldSelector: 'spec.nodeName=', labelSelector: this.labelSelector };
    while (!signal.aborted) {
      const list = await this.lab.api.call<KubernetesList<Pod>>(podsPath, { query }).catch(() => undefined);
      for (const pod of list?.items ?? []) if (!this.isHeld) await this.bind(pod).catch(() => undefined);
      await delay(lookEveryMillis, undefined, { signal }).catch(() => undefined);
    }
  }

  private async bind(pod: Pod): Promise<void> {
    const name = nodeOf(pod) ?? (await this.nextNode());
    const target = { apiVersion: 'v1', kind: 'Node', name };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod.metadata!.name }, target };
    await this.lab.api.call(`${podsPath}/${pod.metadata!.name}/binding`, { method: 'POST', body });
  }

  private async nextNode(): Promise<string> {
    const { items = [] } = await this.lab.api.call<KubernetesList<Node>>('/api/v1/nodes');
    const open = items.filter(({ spec }) => !spec?.unschedulable);
    return open[this.turn++ % open.length]!.metadata!.name!;
  }
}

interface Affinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: {
      nodeSelectorTerms: { matchFields?: { values: string[] }[] }[];
    };
  };
}

/** For which a DaemonSet has made it. */
export function nodeOf(pod: Pod): string | undefined {
  const { nodeAffinity } = (pod.spec?.['affinity'] ?? {}) as Affinity;
  const [term] = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return term?.matchFields?.[0]?.values[0];
}

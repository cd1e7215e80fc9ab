import { type Epoch, StaleEpochError } from '../cluster-driver.js';
import { ApiRefused, type KubernetesApi } from './kubernetes-api.js';
import { annotations, installationLabel, leaseNameOf } from './names.js';
import type { Metadata } from './objects.js';

interface Lease {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: unknown;
}

/**
 * The highest epoch that acts on the cluster, in an object that every scheduler of the installation looks at before it acts. Between
 * the look and the act another may take over: what an old leader then still does is done once at most, as names of pods see to that.
 */
export class LeaderLease {
  private readonly collection: string;
  private readonly name: string;
  /** The look that is next to begin, for all that ask meanwhile, and the one that is under way. */
  private next: Promise<number> | undefined;
  private current: Promise<unknown> = Promise.resolve();
  /** Result of the last check that was answered, and its start. */
  private last: { begunAt: number; highest: number } | undefined;

  constructor(
    private readonly api: KubernetesApi,
    namespace: string,
    private readonly installation: string,
  ) {
    this.collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    this.name = leaseNameOf(installation);
  }

  /** Takes the epoch, so that all lower ones are over. Throws StaleEpochError where a higher one has been taken. */
  async take(epoch: Epoch, signal?: AbortSignal): Promise<void> {
    for (;;) {
      const lease = await this.read(signal);
      const highest = epochOf(lease);
      if (highest > epoch) throw new StaleEpochError(epoch, highest);
      if (lease && highest === epoch) return;
      try {
        return await this.write(lease, epoch, signal);
      } catch (cause) {
        // Another has written meanwhile.
        if (!(cause instanceof ApiRefused && cause.status === 409)) throw cause;
      }
    }
  }

  /**
   * Throws StaleEpochError when a higher one was taken. Many that ask at a time share a read, which begins after they asked, or no
   * more than `sinceMillis` before.
   */
  async check(epoch: Epoch, sinceMillis = 0): Promise<void> {
    const { last } = this;
    const isRecent = last !== undefined && performance.now() - last.begunAt < sinceMillis;
    const highest = isRecent ? last.highest : await this.readHighest();
    if (highest > epoch) throw new StaleEpochError(epoch, highest);
  }

  private readHighest(): Promise<number> {
    this.next ??= this.current.then(() => {
      this.next = undefined;
      const begunAt = performance.now();
      const check = this.read().then((lease) => {
        const highest = epochOf(lease);
        this.last = { begunAt, highest };
        return highest;
      });
      this.current = check.catch(() => undefined);
      return check;
    });
    return this.next;
  }

  private async read(signal?: AbortSignal): Promise<Lease | undefined> {
    try {
      return await this.api.call<Lease>(`${this.collection}/${this.name}`, { signal });
    } catch (cause) {
      if (cause instanceof ApiRefused && cause.status === 404) return undefined;
      throw cause;
    }
  }

  private async write(former: Lease | undefined, epoch: Epoch, signal?: AbortSignal): Promise<void> {
    const written = { [annotations.epoch]: String(epoch) };
    if (former) {
      const metadata = { ...former.metadata, annotations: { ...former.metadata.annotations, ...written } };
      await this.api.call(`${this.collection}/${this.name}`, { method: 'PUT', body: { ...former, metadata }, signal });
      return;
    }
    const body: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: this.name, labels: { [installationLabel]: this.installation }, annotations: written },
    };
    await this.api.call(this.collection, { method: 'POST', body, signal });
  }
}

const epochOf = (lease: Lease | undefined): number =>
  Number(lease?.metadata.annotations?.[annotations.epoch] ?? 0) || 0;

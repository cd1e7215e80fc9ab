import { setTimeout as delay } from 'node:timers/promises';
import { requestLabel, tombstoneLabel } from '../../../src/cluster/kubernetes/names.js';
import type { KubernetesList, Pod } from '../../../src/cluster/kubernetes/objects.js';
import type { Lab } from './lab.js';

const pods = '/api/v1/namespaces/muster/pods';
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const beatMillis = 1_000;

/**
 * A node without a kubelet, whose clock is wrong: its lease, and what it says of pods, have the times of that clock. Tasks run until
 * they are deleted; those of the request `job` end at once.
 */
export class SkewedNode {
  /** Renewals of its lease so far. */
  beats = 0;
  private readonly stopping = new AbortController();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly lab: Lab,
    readonly name: string,
    private readonly skewMillis: number,
  ) {}

  async start(): Promise<void> {
    const metadata = { name: this.name, labels: { 'kubernetes.io/hostname': this.name } };
    await this.lab.api.call('/api/v1/nodes', { method: 'POST', body: { metadata } });
    await this.lab.api.call(leases, { method: 'POST', body: { metadata: { name: this.name }, spec: this.lease() } });
    this.running = this.run();
  }

  async stop(): Promise<void> {
    if (this.stopping.signal.aborted) return;
    this.stopping.abort();
    await this.running;
    await this.lab.api.call(`${leases}/${this.name}`, { method: 'DELETE' });
    await this.lab.api.call(`/api/v1/nodes/${this.name}`, { method: 'DELETE' });
  }

  private time = (): string => new Date(Date.now() + this.skewMillis).toISOString();
  private second = (): string => this.time().replace(/\.\d+Z$/, 'Z');
  private lease = () => ({
    holderIdentity: this.name,
    leaseDurationSeconds: 10,
    renewTime: this.time().replace('Z', '000Z'),
  });

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.beat().catch(() => undefined);
      await delay(beatMillis, undefined, { signal }).catch(() => undefined);
    }
  }

  private async beat(): Promise<void> {
    const { name } = this;
    await this.lab.api.call(`${leases}/${name}`, { method: 'PATCH', body: { spec: this.lease() } });
    const room = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '50Gi' };
    const heard = { lastHeartbeatTime: this.second(), lastTransitionTime: this.second() };
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', ...heard };
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const body = { status: { capacity: room, allocatable: room, addresses, conditions: [ready] } };
    // As kubelets do, which write it when it has changed, and the lease alone otherwise.
    if (this.beats === 0) await this.lab.api.call(`/api/v1/nodes/${name}/status`, { method: 'PATCH', body });
    const query = { fieldSelector: `spec.nodeName=${name}` };
    for (const pod of (await this.lab.api.call<KubernetesList<Pod>>(pods, { query })).items ?? [])
      await this.play(pod).catch(() => undefined);
    this.beats += 1;
  }

  private async play(pod: Pod): Promise<void> {
    const { metadata, status } = pod;
    if (metadata?.labels?.[tombstoneLabel] !== undefined) return;
    const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
    if (isOver && metadata?.deletionTimestamp !== undefined)
      await this.lab.api.call(this.path(pod), { method: 'DELETE', body: { gracePeriodSeconds: 0 } });
    if (isOver) return;
    const { running } = status?.containerStatuses?.[0]?.state ?? {};
    const ends = metadata?.labels?.[requestLabel] === 'job' && running !== undefined;
    if (metadata?.deletionTimestamp !== undefined) await this.end(pod, 143);
    else if (ends) await this.end(pod, 0);
    else if (!running) await this.say(pod, 'Running', { running: { startedAt: this.second() } });
  }

  private end(pod: Pod, exitCode: number): Promise<void> {
    const { startedAt } = pod.status?.containerStatuses?.[0]?.state?.running ?? {};
    const terminated = {
      exitCode,
      startedAt,
      finishedAt: this.second(),
      reason: exitCode === 0 ? 'Completed' : 'Error',
    };
    return this.say(pod, exitCode === 0 ? 'Succeeded' : 'Failed', { terminated });
  }

  private async say(pod: Pod, phase: string, state: object): Promise<void> {
    const { image, name } = pod.spec!.containers![0] as { image: string; name: string };
    const container = { name, image, imageID: image, ready: false, started: true, restartCount: 0, state };
    const startTime = pod.status?.startTime ?? this.second();
    const body = { status: { phase, startTime, containerStatuses: [container] } };
    await this.lab.api.call(`${this.path(pod)}/status`, { method: 'PATCH', body });
  }

  private path = ({ metadata }: Pod): string => `${pods}/${metadata?.name}`;
}

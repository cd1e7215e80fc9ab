import type { LaunchSpec } from '../../core/model/launch.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { KillAnswer, LaunchAnswer } from '../cluster-driver.js';
import { listAll } from './follow-list.js';
import { ApiRefused, type KubernetesApi } from './kubernetes-api.js';
import { annotations, endFinalizer, installationLabel, podNameOf, tombstoneLabel } from './names.js';
import type { Pod } from './objects.js';
import { graceSeconds, podOfTask, sandboxPath, tombstoneOf } from './pod-of-task.js';
import { hasEnded, stateOfPod } from './statuses-of-pod.js';
import { refusalOfLaunch } from './supported.js';

/** What is done to pods. All of it can be repeated: a task is its pod's name, which is there once. */
export class PodCalls {
  readonly folder: string;
  readonly selector: string;

  constructor(
    private readonly api: KubernetesApi,
    namespace: string,
    private readonly settings: KubernetesSettings,
  ) {
    this.folder = `/api/v1/namespaces/${namespace}/pods`;
    this.selector = `${installationLabel}=${settings.installation}`;
  }

  nameOf = (taskId: string): string => podNameOf(this.settings.installation, taskId);

  /** `incarnation`, `portsInUse`: of the node now. Throws ApiUnreachable. */
  async launch(
    spec: LaunchSpec,
    { incarnation, portsInUse }: { incarnation: string | undefined; portsInUse: readonly number[] },
  ): Promise<LaunchAnswer> {
    const { taskId } = spec;
    const refusal = refusalOfLaunch(spec, this.settings);
    if (refusal !== undefined) return { taskId, outcome: 'REFUSED', reason: refusal };
    // An earlier call may be on its way to where the node was itself, or the port was free: nothing may start under this id then.
    const isFormer = incarnation !== spec.incarnation;
    const port = isFormer ? undefined : spec.ports.find((each) => portsInUse.includes(each));
    try {
      const isBuried = isFormer || port !== undefined;
      const pod = isBuried ? tombstoneOf(taskId, this.settings, port) : podOfTask(spec, this.settings);
      await this.api.call(this.folder, { method: 'POST', body: pod, metadataOnly: true });
    } catch (cause) {
      if (!(cause instanceof ApiRefused)) throw cause;
      if (cause.status === 409) return this.answerOf(spec);
      if (isTransient(cause)) return { taskId, outcome: 'UNKNOWN', reason: cause.message };
      return { taskId, outcome: 'REFUSED', reason: cause.message };
    }
    if (port !== undefined) return { taskId, outcome: 'PORT_IN_USE', port };
    return isFormer
      ? { taskId, outcome: 'REFUSED', reason: 'Its node is another one by now' }
      : { taskId, outcome: 'ACCEPTED', state: 'TASK_STARTING', directory: sandboxPath };
  }

  async kill(taskId: string, graceMillis: number): Promise<KillAnswer> {
    const options = { gracePeriodSeconds: graceSeconds(graceMillis), propagationPolicy: 'Background' };
    const pod = await this.find(this.nameOf(taskId));
    if (pod?.metadata?.labels?.[tombstoneLabel] !== undefined) return 'GONE';
    if (!pod) return (await this.bury(taskId)) ? 'GONE' : this.kill(taskId, graceMillis);
    // What it says of its end is yet to be stored.
    if (hasEnded(pod)) return 'KILLING';
    const told = await this.ifThere(async () => {
      await this.noteKill(pod);
      return this.api.call(this.path(pod), { method: 'DELETE', body: options });
    });
    return told === undefined ? this.kill(taskId, graceMillis) : 'KILLING';
  }

  /** When it is gone the object does not tell any more when it was told to go. Only as it was seen: it may have ended meanwhile. */
  private async noteKill(pod: Pod): Promise<void> {
    const { uid, resourceVersion, annotations: given } = pod.metadata ?? {};
    if (given?.[annotations.killed] !== undefined) return;
    const metadata = { uid, resourceVersion, annotations: { [annotations.killed]: 'true' } };
    await this.api.call(this.path(pod), { method: 'PATCH', body: { metadata } });
  }

  async list(): Promise<Pod[]> {
    return (await listAll<Pod>(this.api, this.folder, { labelSelector: this.selector })).items;
  }

  /** Only this pod, of which all is known that there is to know. */
  async remove(pod: Pod): Promise<void> {
    const { uid, finalizers = [] } = pod.metadata ?? {};
    const rest = finalizers.filter((each) => each !== endFinalizer);
    const body = { metadata: { uid, finalizers: rest.length > 0 ? rest : null } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'PATCH', body }));
    await this.ifThere(() =>
      this.api.call(this.path(pod), { method: 'DELETE', body: { gracePeriodSeconds: 0, preconditions: { uid } } }),
    );
  }

  async removeTombstone(name: string): Promise<void> {
    await this.ifThere(() =>
      this.api.call(`${this.folder}/${name}`, { method: 'DELETE', body: { gracePeriodSeconds: 0 } }),
    );
  }

  /** With the grace of its deploy. */
  async end(pod: Pod): Promise<void> {
    const options = { preconditions: { uid: pod.metadata?.uid } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'DELETE', body: options }));
  }

  /** It says why, and goes. */
  async giveUp(pod: Pod, why: string): Promise<void> {
    const { uid } = pod.metadata ?? {};
    const body = { metadata: { uid, annotations: { [annotations.gaveUp]: why } } };
    const patched = await this.ifThere(() => this.api.call<Pod>(this.path(pod), { method: 'PATCH', body }));
    if (!patched) return;
    const options = { gracePeriodSeconds: 1, preconditions: { uid } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'DELETE', body: options }));
  }

  find(name: string): Promise<Pod | undefined> {
    return this.ifThere(() => this.api.call<Pod>(`${this.folder}/${name}`));
  }

  /** The API server knows the name. */
  private async answerOf(spec: LaunchSpec): Promise<LaunchAnswer> {
    const { taskId, launchId } = spec;
    const pod = await this.find(this.nameOf(taskId));
    if (!pod) return { taskId, outcome: 'UNKNOWN', reason: 'Its pod came and went' };
    if (pod.metadata?.labels?.[tombstoneLabel] !== undefined) {
      const port = Number(pod.metadata.annotations?.[annotations.portInUse]);
      if (port > 0) return { taskId, outcome: 'PORT_IN_USE', port };
      return { taskId, outcome: 'REFUSED', reason: 'It was killed before it came' };
    }
    const known = pod.metadata?.annotations?.[annotations.launchId];
    if (launchId !== undefined && known !== undefined && known !== launchId) return { taskId, outcome: 'ID_IN_USE' };
    return { taskId, outcome: 'ACCEPTED', state: stateOfPod(pod), directory: sandboxPath };
  }

  /** False: there is a pod of that name. */
  private async bury(taskId: string): Promise<boolean> {
    try {
      await this.api.call(this.folder, { method: 'POST', body: tombstoneOf(taskId, this.settings) });
      return true;
    } catch (cause) {
      if (cause instanceof ApiRefused && cause.status === 409) return false;
      throw cause;
    }
  }

  private path = (pod: Pod): string => `${this.folder}/${pod.metadata?.name}`;

  /** undefined: it is not there (any more). */
  private async ifThere<T>(call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (cause) {
      // A conflict: another pod has the name by now.
      if (cause instanceof ApiRefused && (cause.status === 404 || cause.status === 409)) return undefined;
      throw cause;
    }
  }
}

/** It may do it later: it is overloaded, not ready, or the rights and the namespace are not there yet. */
const isTransient = ({ status, message }: ApiRefused): boolean =>
  status >= 500 ||
  [401, 404, 408, 429].includes(status) ||
  (status === 403 && !/exceeded quota|violates PodSecurity/.test(message));

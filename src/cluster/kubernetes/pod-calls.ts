import { podSandboxPath, type PodToPrepare, type PrepareAnswer } from '../../pod-agent/pod-agent-api.js';
import { outputsOf } from '../../agent/sandbox/sandbox-layout.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import type { KillAnswer, LaunchAnswer } from '../cluster-driver.js';
import { artifactsOf } from './artifacts-of-pod.js';
import { wholeSeconds } from './container-values.js';
import { listAll } from './follow-list.js';
import { ApiRefused, type KubernetesApi } from './kubernetes-api.js';
import { annotations, endFinalizer, installationLabel, podNameOf, taskIdOf, tombstoneLabel } from './names.js';
import type { Pod } from './objects.js';
import { type Obstacle, podOfTask, tombstoneOf, userOf } from './pod-of-task.js';
import { hasEnded, stateOfPod } from './statuses-of-pod.js';
import { refusalOfLaunch } from './supported.js';

/** Facts of its node that a launch needs. */
interface NodeNow {
  incarnation: string | undefined;
  portsInUse: readonly number[];
  /** By its agent; absent: there are no agents. */
  prepare?: (pod: PodToPrepare) => Promise<PrepareAnswer>;
}

/** A limit that the agent of a node watches. */
export interface ExceededLimit {
  annotation: string;
  value: string;
  /** It goes at once, without its grace. */
  isUrgent: boolean;
}

export const overDisk = (diskMb: number): ExceededLimit => ({
  annotation: annotations.overDisk,
  value: String(diskMb),
  isUrgent: true,
});
export const overThreads = ({ seen, limit }: { seen: number; limit: number }): ExceededLimit => ({
  annotation: annotations.overThreads,
  value: `${seen}, limit ${limit}`,
  isUrgent: false,
});

/** Operations on pods. All of them can be repeated: a task is its pod's name, which is there once. */
export class PodCalls {
  readonly collection: string;
  readonly selector: string;

  constructor(
    private readonly api: KubernetesApi,
    private readonly namespace: string,
    private readonly settings: KubernetesSettings,
  ) {
    this.collection = `/api/v1/namespaces/${namespace}/pods`;
    this.selector = `${installationLabel}=${settings.installation}`;
  }

  nameOf = (taskId: string): string => podNameOf(this.settings.installation, taskId);

  /** Throws ApiUnreachable or AgentUnreachable. */
  async launch(spec: LaunchSpec, { incarnation, portsInUse, prepare }: NodeNow): Promise<LaunchAnswer> {
    const { taskId } = spec;
    const refusal = refusalOfLaunch(spec, this.settings);
    if (refusal !== undefined) return { taskId, outcome: 'REFUSED', reason: refusal };
    // An earlier call may be on its way to where the node was itself, or the port was free: nothing may start under this id then.
    if (incarnation !== spec.incarnation)
      return this.buried(spec, {}, { taskId, outcome: 'REFUSED', reason: 'Its node is another one by now' });
    const port = spec.ports.find((each) => portsInUse.includes(each));
    if (port !== undefined) return this.buried(spec, { portInUse: port }, { taskId, outcome: 'PORT_IN_USE', port });
    const toPrepare = this.toPrepare(spec);
    const prepared = await prepare?.(toPrepare);
    if (prepared?.outcome === 'DISK_FULL')
      return this.buried(spec, { isDiskFull: true }, { taskId, outcome: 'DISK_FULL' });
    // What is known of it is there.
    if (prepared?.outcome === 'REFUSED')
      return this.buried(spec, {}, { taskId, outcome: 'REFUSED', reason: prepared.reason });
    if (prepared && toPrepare.artifacts && prepared.artifacts === undefined)
      return { taskId, outcome: 'UNKNOWN', reason: 'The agent of its node is older, and fetches no artifacts' };
    const pod = podOfTask(spec, this.settings, prepared);
    return this.made(spec, pod, { taskId, outcome: 'ACCEPTED', state: 'TASK_STARTING', directory: podSandboxPath });
  }

  private buried(spec: LaunchSpec, obstacle: Obstacle, answer: LaunchAnswer): Promise<LaunchAnswer> {
    return this.made(spec, tombstoneOf(spec.taskId, this.settings, obstacle), answer);
  }

  private async made(spec: LaunchSpec, pod: Pod, answer: LaunchAnswer): Promise<LaunchAnswer> {
    const { taskId } = spec;
    try {
      const made = await this.api.call<Pod>(this.collection, { method: 'POST', body: pod, metadataOnly: true });
      return (await this.undone(spec, pod, made)) ?? answer;
    } catch (cause) {
      if (!(cause instanceof ApiRefused)) throw cause;
      if (cause.status === 409) return this.answerOf(spec, pod);
      const outcome = outcomeOf(cause);
      // An earlier call whose answer did not come may have made it.
      if (outcome === 'NOT_ADMITTED' && (await this.find(pod.metadata?.name ?? ''))) return this.answerOf(spec, pod);
      return { taskId, outcome, reason: cause.message };
    }
  }

  /** A pod without all that Muster has written on it would not be seen, or be taken for another: it goes again. */
  private async undone({ taskId }: LaunchSpec, wanted: Pod, made: Pod): Promise<LaunchAnswer | undefined> {
    const lost = lostOf(wanted, made);
    if (lost === undefined) return undefined;
    await this.remove(made);
    const reason = `The cluster has made its pod without ${lost}, perhaps by a webhook; the pod was removed`;
    return { taskId, outcome: 'NOT_ADMITTED', reason };
  }

  private toPrepare(spec: LaunchSpec): PodToPrepare {
    const { taskId, cpus, memoryMb, diskMb, executorData } = spec;
    const { maxTaskThreads, preserveTaskSandboxAfterFinish } = executorData ?? {};
    const artifacts = artifactsOf(spec);
    const uid = userOf(spec, this.settings);
    const user = uid === undefined ? undefined : { uid, gid: uid };
    const { namespace } = this;
    return {
      taskId,
      namespace,
      podName: this.nameOf(taskId),
      cpus,
      memoryMb,
      diskMb,
      ...(user && { user }),
      ...(executorData && { executor: { maxTaskThreads, preserveTaskSandboxAfterFinish } }),
      ...(artifacts && { artifacts }),
      logs: logsOf(spec),
    };
  }

  async kill(taskId: string, graceMillis: number): Promise<KillAnswer> {
    const pod = await this.find(this.nameOf(taskId));
    const gracePeriodSeconds = wholeSeconds(graceMillis) + (graceMillis > 0 ? postSecondsOf(pod) : 0);
    const options = { gracePeriodSeconds, propagationPolicy: 'Background' };
    if (pod?.metadata?.labels?.[tombstoneLabel] !== undefined) return 'GONE';
    if (!pod) return (await this.bury(taskId)) ? 'GONE' : this.kill(taskId, graceMillis);
    // What it says of its end is yet to be stored.
    if (hasEnded(pod)) return 'KILLING';
    const told = await this.ifThere(async () => {
      await this.noteKill(pod);
      return this.api.call(this.path(pod), { method: 'DELETE', body: options, metadataOnly: true });
    });
    return told === undefined ? this.kill(taskId, graceMillis) : 'KILLING';
  }

  /** Returns true when nothing of the task is there; then nothing ever will be. */
  async withdraw(taskId: string): Promise<boolean> {
    const pod = await this.find(this.nameOf(taskId));
    if (pod) return pod.metadata?.labels?.[tombstoneLabel] !== undefined;
    return this.bury(taskId);
  }

  /**
   * Notes the time of the kill, which the object does not show any more when it is gone. Only on the pod as it was
   * seen: it may have ended in the meantime.
   */
  private async noteKill(pod: Pod): Promise<void> {
    const { uid, resourceVersion, annotations: given } = pod.metadata ?? {};
    if (given?.[annotations.killed] !== undefined) return;
    const metadata = { uid, resourceVersion, annotations: { [annotations.killed]: 'true' } };
    await this.api.call(this.path(pod), { method: 'PATCH', body: { metadata }, metadataOnly: true });
  }

  async list(): Promise<Pod[]> {
    return (await listAll<Pod>(this.api, this.collection, { labelSelector: this.selector })).items;
  }

  /** Only this pod, of which all is known that there is to know. */
  async remove(pod: Pod): Promise<void> {
    const { uid, finalizers = [] } = pod.metadata ?? {};
    const rest = finalizers.filter((each) => each !== endFinalizer);
    const body = { metadata: { uid, finalizers: rest.length > 0 ? rest : null } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'PATCH', body, metadataOnly: true }));
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'DELETE', body: options, metadataOnly: true }));
  }

  async removeTombstone(name: string): Promise<void> {
    await this.ifThere(() =>
      this.api.call(`${this.collection}/${name}`, { method: 'DELETE', body: { gracePeriodSeconds: 0 } }),
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

  /** Its main program is over: what others have added to it goes, with its grace. */
  async endRest(pod: Pod): Promise<void> {
    const { uid } = pod.metadata ?? {};
    const body = { metadata: { uid, annotations: { [annotations.mainEnded]: 'true' } } };
    if (await this.ifThere(() => this.api.call<Pod>(this.path(pod), { method: 'PATCH', body }))) await this.end(pod);
  }

  /** It takes more of its node than it may: it says so, and goes, unless it has ended meanwhile. */
  async overLimit(name: string, limit: ExceededLimit): Promise<void> {
    const pod = await this.find(name);
    const { uid, resourceVersion, deletionTimestamp, annotations: given } = pod?.metadata ?? {};
    if (!pod || hasEnded(pod)) return;
    const isNoted = given?.[limit.annotation] !== undefined;
    // One that is ending keeps its grace, and why it ends, unless the node is in need.
    if (deletionTimestamp !== undefined && (isNoted || !limit.isUrgent)) return;
    const body = { metadata: { uid, resourceVersion, annotations: { [limit.annotation]: limit.value } } };
    const noted = isNoted || (await this.ifThere(() => this.api.call<Pod>(this.path(pod), { method: 'PATCH', body })));
    // What has changed meanwhile is looked at when its agent says it again.
    if (!noted) return;
    const options = { ...(limit.isUrgent && { gracePeriodSeconds: 1 }), preconditions: { uid } };
    await this.ifThere(() => this.api.call(this.path(pod), { method: 'DELETE', body: options }));
  }

  /** undefined: there is none, or one that runs nothing. */
  async ofTask(taskId: string): Promise<Pod | undefined> {
    const pod = await this.find(this.nameOf(taskId));
    const isOurs = taskIdOf(this.settings.installation, pod?.metadata) === taskId;
    return isOurs && pod?.metadata?.labels?.[tombstoneLabel] === undefined ? pod : undefined;
  }

  find(name: string): Promise<Pod | undefined> {
    return this.ifThere(() => this.api.call<Pod>(`${this.collection}/${name}`));
  }

  /** The API server knows the name. */
  private async answerOf(spec: LaunchSpec, wanted: Pod): Promise<LaunchAnswer> {
    const { taskId, launchId } = spec;
    const pod = await this.find(this.nameOf(taskId));
    if (!pod) return { taskId, outcome: 'UNKNOWN', reason: 'Its pod came and went' };
    if (pod.metadata?.labels?.[tombstoneLabel] !== undefined) {
      const port = Number(pod.metadata.annotations?.[annotations.portInUse]);
      if (port > 0) return { taskId, outcome: 'PORT_IN_USE', port };
      if (pod.metadata.annotations?.[annotations.diskFull] !== undefined) return { taskId, outcome: 'DISK_FULL' };
      return { taskId, outcome: 'REFUSED', reason: 'It was killed before it came' };
    }
    const known = pod.metadata?.annotations?.[annotations.launchId];
    if (launchId !== undefined && known !== undefined && known !== launchId) return { taskId, outcome: 'ID_IN_USE' };
    const hasBegun = pod.status?.phase !== undefined && pod.status.phase !== 'Pending';
    const isBurial = wanted.metadata?.labels?.[tombstoneLabel] !== undefined;
    const undone = hasBegun || isBurial ? undefined : await this.undone(spec, wanted, pod);
    return undone ?? { taskId, outcome: 'ACCEPTED', state: stateOfPod(pod), directory: podSandboxPath };
  }

  /** False: there is a pod of that name. */
  private async bury(taskId: string): Promise<boolean> {
    try {
      await this.api.call(this.collection, { method: 'POST', body: tombstoneOf(taskId, this.settings) });
      return true;
    } catch (cause) {
      if (cause instanceof ApiRefused && cause.status === 409) return false;
      throw cause;
    }
  }

  private path = (pod: Pod): string => `${this.collection}/${pod.metadata?.name}`;

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

/** Part of a launch that the logs of its task depend on. */
const logsOf = ({ executorData, programs, uploads }: LaunchSpec): PodToPrepare['logs'] => ({
  ...(executorData && {
    executorData: {
      logrotateFrequency: executorData.logrotateFrequency,
      skipLogrotateAndCompress: executorData.skipLogrotateAndCompress,
    },
  }),
  programLogs: programs ? Object.values(programs).flat().flatMap(outputsOf) : [],
  ...(uploads && { uploads }),
});

/** Time for its post steps, after the end of its other programs. */
const postSecondsOf = (pod: Pod | undefined): number =>
  Number(pod?.metadata?.annotations?.[annotations.postSeconds] ?? 0) || 0;

/** Outcome of a launch whose pod was refused. */
function outcomeOf({ status, message }: ApiRefused): 'UNKNOWN' | 'NOT_ADMITTED' | 'REFUSED' {
  // What the deploy asks for is not allowed in the namespace, and will not be.
  if (status === 403 && /violates PodSecurity/.test(message)) return 'REFUSED';
  // Quotas, limits and rights; a namespace or class that is not there; webhooks and policies of others, which may have any status.
  if (status === 403 || status === 404 || /denied (the )?request|failed calling webhook/.test(message))
    return 'NOT_ADMITTED';
  // The server is overloaded, not ready, or does not know us now.
  return status >= 500 || [401, 408, 429].includes(status) ? 'UNKNOWN' : 'REFUSED';
}

/** What a pod is found and understood by. */
const essential: ReadonlySet<string> = new Set([
  installationLabel,
  tombstoneLabel,
  annotations.taskId,
  annotations.incarnation,
  endFinalizer,
]);

/** Something essential that Muster has written on a pod and that is not there, by name; undefined: all of it is. */
function lostOf({ metadata: wanted = {} }: Pod, { metadata: made = {} }: Pod): string | undefined {
  for (const kind of ['labels', 'annotations'] as const)
    for (const [name, value] of Object.entries(wanted[kind] ?? {}))
      if (essential.has(name) && made[kind]?.[name] !== value) return `its ${kind.slice(0, -1)} ${name}`;
  const finalizer = wanted.finalizers?.find((each) => essential.has(each) && !made.finalizers?.includes(each));
  return finalizer && `its finalizer ${finalizer}`;
}

import type { TaskState } from '../../core/model/enums.js';
import { withPostFailures } from '../../agent/tasks/outcome.js';
import { cut } from '../../platform/files.js';
import { failureOfArtifacts } from './artifacts-of-pod.js';
import { annotations } from './names.js';
import { mainOf, millisOf, type ContainerStatus, type Pod } from './objects.js';
import { failedInitStep, failedPostSteps } from './program-statuses.js';

export interface PodStatus {
  state: TaskState;
  /** Epoch millis. */
  timestamp: number;
  message?: string;
  reason?: string;
  /** Exit code of a program that failed by itself. */
  exitCode?: number;
}

type PodEnd = Pick<PodStatus, 'state' | 'message' | 'reason' | 'exitCode'>;
type TerminatedState = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** Of messages that hold words of others, in characters. */
export const longestMessage = 1_000;

/**
 * The life of a task so far as its pod tells it, from its beginning: what the scheduler has been told already it knows by the state.
 * An object shows the present only, so a state that has passed between two looks is concluded from the times in it.
 */
export function statusesOfPod(pod: Pod): PodStatus[] {
  const begun = millisOf(pod.metadata?.creationTimestamp) ?? 0;
  const { running, terminated } = statusOf(pod)?.state ?? {};
  const statuses: PodStatus[] = [{ state: 'TASK_STARTING', timestamp: begun }];
  const startedAt = nodeMillisOf(pod, running?.startedAt ?? (hasRun(terminated) ? terminated?.startedAt : undefined));
  // With a probe of its start it runs when that was passed, which the status does not tell any more after the end.
  const isProbed = mainOf(pod.spec?.containers)?.['startupProbe'] !== undefined;
  const runs = running ? statusOf(pod)?.started !== false : !isProbed;
  if (startedAt !== undefined && runs) statuses.push({ state: 'TASK_RUNNING', timestamp: Math.max(begun, startedAt) });
  const end = endOf(pod);
  // Its main program is over, and sidecars, post steps or containers of others are not.
  if (!end && terminated && hasMore(pod)) {
    const message = `The main program is over: exit code ${terminated.exitCode ?? 'unknown'}`;
    statuses.push({ state: 'TASK_KILLING', timestamp: nodeMillisOf(pod, terminated.finishedAt) ?? begun, message });
  }
  if (end) {
    const endedAt =
      nodeMillisOf(pod, terminated?.finishedAt) ?? millisOf(disruptionOf(pod)?.lastTransitionTime) ?? begun;
    const text = withPostFailures(end, failedPostSteps(pod)).message;
    const message = text && cut(text, longestMessage);
    statuses.push({ ...end, ...(message !== undefined && { message }), timestamp: Math.max(begun, endedAt) });
  }
  return statuses;
}

/**
 * Nothing of it runs any more, as its kubelet says, or the cluster for a node that is gone. A pod that is deleted by force, or whose
 * node is silent, has not ended: it may run on.
 */
export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Differences of clocks that whole seconds may show by themselves. */
const leastBehindMillis = 2_000;

/** A time by the clock of its node. If that is behind, and so saw the pod before it was made, the time is later by as much. */
function nodeMillisOf({ metadata, status }: Pod, time: string | null | undefined): number | undefined {
  const millis = millisOf(time);
  const [made, seen] = [millisOf(metadata?.creationTimestamp), millisOf(status?.startTime)];
  const behind = made === undefined || seen === undefined ? 0 : made - seen;
  return millis === undefined || behind < leastBehindMillis ? millis : millis + behind;
}

const statusOf = (pod: Pod): ContainerStatus | undefined => mainOf(pod.status?.containerStatuses);

/** Containers run, or may, that do not end with the main one. */
const hasMore = ({ spec }: Pod): boolean =>
  (spec?.containers ?? []).length > 1 ||
  (spec?.initContainers ?? []).some(({ restartPolicy }) => restartPolicy === 'Always');

/** Its main program is over, and a container that another has added to its pod keeps it from ending. */
export const isKeptOpen = (pod: Pod): boolean =>
  !hasEnded(pod) &&
  pod.metadata?.deletionTimestamp === undefined &&
  statusOf(pod)?.state?.terminated !== undefined &&
  (pod.status?.containerStatuses ?? []).some(({ state }) => !state?.terminated);

const disruptionOf = (pod: Pod) =>
  pod.status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');

const cannotStart = new Set(['StartError', 'ContainerCannotRun', 'CreateContainerError', 'RunContainerError']);
const hasRun = (terminated: TerminatedState | undefined): boolean => !cannotStart.has(terminated?.reason ?? '');

/** The first line that fits decides. */
function endOf(pod: Pod): PodEnd | undefined {
  if (!hasEnded(pod)) return undefined;
  const { metadata, status = {} } = pod;
  const terminated = statusOf(pod)?.state?.terminated;
  const disruption = disruptionOf(pod);
  const gaveUp = metadata?.annotations?.[annotations.gaveUp];
  // A kubelet ends a container that it never made as well, with the code of a kill, and with no time of a start.
  if (gaveUp !== undefined && !terminated?.startedAt) return failed(gaveUp, 'CONTAINER_LAUNCH_FAILED');
  const diskMb = metadata?.annotations?.[annotations.overDisk];
  if (diskMb !== undefined) return failed(`Disk limit exceeded: ${diskMb} MB`, 'CONTAINER_LIMITATION_DISK');
  const threads = metadata?.annotations?.[annotations.overThreads];
  if (threads !== undefined) return failed(`Killed for too many threads: ${threads}`, 'CONTAINER_LIMITATION');
  if (status.reason === 'Evicted') return evicted(status.message ?? 'Evicted by its node');
  if (disruption) return disrupted(disruption.reason ?? '', disruption.message ?? status.message ?? '');
  // Its node refuses it before anything of it ran: there was no room, a port was taken, or it is shutting down.
  if (status.phase === 'Failed' && !terminated && status.reason)
    return lost(`Its node does not take it: ${status.reason}: ${status.message ?? ''}`, 'INVALID_OFFERS');
  if (isDeletedBefore(pod, terminated)) return { state: 'TASK_KILLED', message: killedMessage(terminated) };
  const withoutFiles = failureOfArtifacts(pod);
  if (!terminated && withoutFiles) return withoutFiles;
  const failedInit = failedInitStep(pod);
  if (!terminated && failedInit)
    return failed(failedInit.message, failedInit.isOutOfMemory ? 'CONTAINER_LIMITATION_MEMORY' : undefined);
  if (!terminated)
    return lost(status.message ?? foreignFailure(pod) ?? 'Its pod ended, and says nothing of how', 'AGENT_RESTARTED');
  return endOfContainer(pod, terminated);
}

/** What kept it from its start, in a container that is not of its deploy. */
function foreignFailure({ status }: Pod): string | undefined {
  const found = status?.initContainerStatuses?.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return found && `Container '${found.name}' of its pod ended with exit code ${found.state?.terminated?.exitCode}`;
}

function endOfContainer(pod: Pod, { exitCode, reason, message }: TerminatedState): PodEnd {
  if (reason === 'OOMKilled')
    return failed(`Memory limit exceeded: ${message || 'killed by its node'}`, 'CONTAINER_LIMITATION_MEMORY');
  if (cannotStart.has(reason ?? '')) return failed(`Could not start: ${message ?? reason}`, 'CONTAINER_LAUNCH_FAILED');
  if (reason === 'ContainerStatusUnknown' || exitCode === undefined)
    return lost('Its node does not know any more how it ended', 'AGENT_RESTARTED');
  const successful = exitCodesOf(pod.metadata?.annotations?.[annotations.successfulExitCodes]);
  const isSuccess = successful.length > 0 ? successful.includes(exitCode) : exitCode === 0;
  if (isSuccess) return { state: 'TASK_FINISHED', message: `Exit code ${exitCode}` };
  const signal = exitCode > 128 ? ` (signal ${exitCode - 128})` : '';
  return { ...failed(`Exit code ${exitCode}${signal}`), exitCode };
}

export const exitCodesText = (codes: readonly number[]): string => codes.join(',');
const exitCodesOf = (text: string | undefined): number[] => (text ? text.split(',').map(Number) : []);

/** True when it was deleted before it ended by itself. The time of a deletion is when its grace is over. */
function isDeletedBefore(pod: Pod, terminated: TerminatedState | undefined): boolean {
  const { metadata = {}, spec } = pod;
  if (terminated && metadata.annotations?.[annotations.mainEnded] !== undefined) return false;
  if (metadata.annotations?.[annotations.killed] !== undefined) return true;
  const graceOver = millisOf(metadata.deletionTimestamp);
  if (graceOver === undefined) return false;
  const endedAt = nodeMillisOf(pod, terminated?.finishedAt);
  // Deleted by another, and when all of it had ended the grace became 0 and the time that moment: it had the one that the pod names,
  // most likely.
  const graceSeconds = metadata.deletionGracePeriodSeconds || Number(spec?.['terminationGracePeriodSeconds'] ?? 0);
  // Times are whole seconds: one that ended in the second of its deletion was killed, as far as is known.
  return endedAt === undefined || endedAt >= graceOver - graceSeconds * 1_000;
}

const killedMessage = (terminated: TerminatedState | undefined): string =>
  terminated ? `Killed, exit code ${terminated.exitCode ?? 'unknown'}` : 'Killed before it ran';

/** By its kubelet: for a limit of its own, or because the node had too little of something. */
function evicted(message: string): PodEnd {
  if (/ephemeral[- ](local )?storage/i.test(message) && /exceed/i.test(message) && !/low on resource/i.test(message))
    return failed(`Disk limit exceeded: ${message}`, 'CONTAINER_LIMITATION_DISK');
  return lost(message, 'CONTAINER_PREEMPTED');
}

/** By the cluster, for reasons that are not the task's. */
function disrupted(reason: string, message: string): PodEnd {
  const text = `Its pod was taken away: ${reason}${message ? `: ${message}` : ''}`;
  const isForOthers = reason === 'PreemptionByScheduler' || reason === 'TerminationByKubelet';
  return lost(text, isForOthers ? 'CONTAINER_PREEMPTED' : 'AGENT_REMOVED');
}

const failed = (message: string, reason?: string): PodEnd => ({
  state: 'TASK_FAILED',
  message,
  ...(reason !== undefined && { reason: `REASON_${reason}` }),
});
const lost = (message: string, reason: string): PodEnd => ({ state: 'TASK_LOST', message, reason: `REASON_${reason}` });

/** The task can be asked for its state only where its life has got to. */
export const stateOfPod = (pod: Pod): TaskState => statusesOfPod(pod).at(-1)!.state;

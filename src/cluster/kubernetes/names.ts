import { createHash } from 'node:crypto';
import type { Metadata } from './objects.js';

/** Label of all that belongs to an installation: its name. */
export const installationLabel = 'muster/installation';
/** Label of the pods of agents: the name of their installation. */
export const agentLabel = 'muster/agent';
export const requestLabel = 'muster/request';
/** Label of a pod that runs nothing, and keeps its name from being given to a pod that would. */
export const tombstoneLabel = 'muster/tombstone';

export const annotations = {
  taskId: 'muster/task-id',
  launchId: 'muster/launch-id',
  incarnation: 'muster/incarnation',
  successfulExitCodes: 'muster/successful-exit-codes',
  /** Seconds that its post steps may take, after the time that a kill gives to its other programs. */
  postSeconds: 'muster/post-seconds',
  /** Reason why the driver gave up a pod that did not start. */
  gaveUp: 'muster/gave-up',
  /** Its main program was over, and containers that others have added kept it from ending, when Muster ended these. */
  mainEnded: 'muster/main-ended',
  /** It had not ended when Muster told it to go. */
  killed: 'muster/killed',
  epoch: 'muster/epoch',
  /** MB of the disk that it may take, and took more of. */
  overDisk: 'muster/over-disk',
  /** Threads that it had, and the most that it may have. */
  overThreads: 'muster/over-threads',
  /** On a tombstone: the port that was not free. */
  portInUse: 'muster/port-in-use',
  /** On a tombstone: too little of the disk was free. */
  diskFull: 'muster/disk-full',
  /** On nodes, set by the operator. */
  ports: 'muster/ports',
  /** On nodes that an installation has cordoned: its name. */
  cordoned: 'muster/cordoned',
} as const;

/** Until it is taken off, the pod stays where its end can be read, whoever deletes it. */
export const endFinalizer = 'muster/end';

const longestName = 63;
const digestLength = 24;

/** One task, one name: the API server itself sees to it that a task is there once. It is the name of its host, too, and no longer. */
export function podNameOf(installation: string, taskId: string): string {
  const digest = createHash('sha256').update(`${installation} ${taskId}`).digest('hex').slice(0, digestLength);
  const readable = dashed(taskId)
    .slice(0, longestName - digestLength - 2 - installation.length)
    .replace(/-+$/, '');
  return [installation, readable, digest].filter((part) => part !== '').join('-');
}

export const leaseNameOf = (installation: string): string => `${installation}-leader`;

/** Ids of requests may be longer than labels, and have other characters. */
export const labelValueOf = (text: string): string =>
  text
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .slice(0, 63)
    .replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');

/** The task that a pod is for: undefined where its name is not that of the task that it claims to be. */
export function taskIdOf(installation: string, { name, annotations: given }: Metadata = {}): string | undefined {
  const taskId = given?.[annotations.taskId];
  return taskId !== undefined && name === podNameOf(installation, taskId) ? taskId : undefined;
}

const dashed = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '');

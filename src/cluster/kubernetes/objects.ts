import { podContainerName } from '../../pod-agent/pod-agent-api.js';
import { quantityOf } from '../../core/kubernetes-quantity.js';

/*
 * What is read and written of the objects of Kubernetes, as the API server sends them: times are texts, and everything may be
 * missing. The classes of the client library have their times as dates, for which each object would be copied.
 */

export interface Metadata {
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
}

export interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Taint {
  key?: string;
  value?: string;
  effect?: string;
}

export interface Node {
  metadata?: Metadata;
  spec?: { unschedulable?: boolean; taints?: Taint[] };
  status?: {
    allocatable?: Record<string, string>;
    addresses?: { type?: string; address?: string }[];
    conditions?: Condition[];
  };
}

export interface ContainerStatus {
  name?: string;
  started?: boolean;
  restartCount?: number;
  lastState?: ContainerState;
  state?: ContainerState;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode?: number;
    signal?: number;
    reason?: string;
    message?: string;
    startedAt?: string | null;
    finishedAt?: string | null;
  };
}

export interface ContainerPort {
  name?: string;
  containerPort: number;
  hostPort?: number;
  protocol?: string;
}

export interface Container {
  name?: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  ports?: ContainerPort[];
  restartPolicy?: string;
  [further: string]: unknown;
}

/** Of a pod, as far as its source is read. */
export interface Volume {
  persistentVolumeClaim?: { claimName?: string };
  configMap?: { name?: string };
  secret?: { secretName?: string };
  [further: string]: unknown;
}

export interface Pod {
  apiVersion?: string;
  kind?: string;
  metadata?: Metadata;
  spec?: {
    nodeName?: string;
    containers?: Container[];
    initContainers?: Container[];
    volumes?: Volume[];
    overhead?: Record<string, string>;
    [further: string]: unknown;
  };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    /** When its kubelet saw it first, by the clock of the node. */
    startTime?: string;
    podIP?: string;
    hostIP?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface KubernetesList<T> {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: T[];
}

/** The container of the task's main program, or its status: others may have added containers to its pod. */
export const mainOf = <C extends { name?: string }>(containers: readonly C[] | undefined): C | undefined =>
  containers?.find(({ name }) => name === podContainerName);

/** True when it takes calls, as its kubelet reports. */
export const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;

/** Epoch millis; undefined: there is none, or it is no time. */
export function millisOf(time: string | null | undefined): number | undefined {
  const millis = time ? Date.parse(time) : Number.NaN;
  return Number.isFinite(millis) ? millis : undefined;
}

/** A quantity such as 250m, 1.5Gi or 2e3; what is none counts as 0. */
export const amountOf = (quantity: string | undefined): number => quantityOf(quantity ?? '') ?? 0;

import { cut } from '../../platform/files.js';
import { awaitsArtifactsSince } from './artifacts-of-pod.js';
import { mainOf, millisOf, type ContainerStatus, type Pod, type Volume } from './objects.js';
import { programOfContainer } from './programs-of-pod.js';
import { hasEnded, longestMessage } from './statuses-of-pod.js';

/** What of a node the starts of its pods depend on. */
export interface NodeCondition {
  /** Why its kubelet runs no pods; absent: it does. */
  notReady?: string;
  /** Its agent answers. */
  isAgentReady: boolean;
}

/** Why a pod that was accepted does not run yet. */
export interface PodWait {
  text: string;
  /** A container by its name, or another thing that it waits for. */
  about: string;
  /**
   * FAULT: something is wrong. PAUSE: the same, until it is tried again, in words that may be poorer or change each time. ORDINARY: every
   * start takes a moment for it.
   */
  kind: 'FAULT' | 'PAUSE' | 'ORDINARY';
  /** As the kubelet names it; absent: it does not. */
  reason?: string;
}

/** A wait as it was told. */
export interface ToldWait extends PodWait {
  /** Epoch millis. */
  at: number;
}

/** What every start takes a moment for is told after this time. */
const ordinaryMillis = 10_000;
/** And no sooner than this after another wait was told: the two may alternate. */
const retoldAfterMillis = 30_000;

/** The wait of a pod if it is to be told now; undefined: it waits for nothing, or that was told, or says too little to be told yet. */
export function waitToTell(
  pod: Pod,
  node: NodeCondition,
  now: number,
  told: ToldWait | undefined,
): ToldWait | undefined {
  const wait = waitOf(pod, node);
  if (!wait || wait.text === told?.text) return undefined;
  const isTold = told?.about === wait.about;
  if (wait.kind === 'PAUSE' && isTold) return undefined;
  const isEarly = now - startingSince(pod, now) < ordinaryMillis || (told && now - told.at < retoldAfterMillis);
  if (wait.kind === 'ORDINARY' && (isTold || isEarly)) return undefined;
  return { ...wait, at: now };
}

/** Reasons for which nothing but another deploy makes a pod start. */
const hopeless = new Set(['InvalidImageName', 'ErrImageNeverPull', 'CreateContainerConfigError']);

/** Reason why a pod that has not started is given up; undefined: it may still start, or it has. `node`: its agent fetches its files. */
export function whyGivenUp(
  pod: Pod,
  now: number,
  startMillis: number,
  node: NodeCondition = { isAgentReady: true },
): string | undefined {
  const wait = waitOf(pod, node);
  if (!wait || mainState(pod).running) return undefined;
  const seconds = Math.round(startMillis / 1_000);
  // An agent gives its tasks their files within a time of its own.
  const awaitsSince = node.isAgentReady ? undefined : awaitsArtifactsSince(pod);
  if (awaitsSince !== undefined && now - awaitsSince >= startMillis)
    return `Did not get its files within ${seconds} s: the agent of its node is not ready`;
  // A step before it, for which its deploy has a limit.
  if (runningInit(pod)) return undefined;
  if (hopeless.has(wait.reason ?? '')) return cut(`Could not start: ${wait.text}`, longestMessage);
  const isLate = now - startingSince(pod, now) >= startMillis;
  return isLate ? cut(`Did not start within ${seconds} s: ${wait.text}`, longestMessage) : undefined;
}

/** The first that holds counts. */
function waitOf(pod: Pod, { notReady, isAgentReady }: NodeCondition): PodWait | undefined {
  const { running, terminated } = mainState(pod);
  const isStarted = running !== undefined && mainOf(pod.status?.containerStatuses)?.started !== false;
  if (hasEnded(pod) || pod.metadata?.deletionTimestamp !== undefined || terminated || isStarted) return undefined;
  const node = `node '${pod.spec?.nodeName ?? ''}'`;
  const ordinary = (about: string, text: string): PodWait => ({ about, text, kind: 'ORDINARY' });
  if (notReady !== undefined)
    return { about: 'node', text: cut(`Its ${node} is not ready: ${notReady}`, longestMessage), kind: 'FAULT' };
  const stuck = stuckContainer(pod);
  if (stuck) return waitOfContainer(stuck, pod, node);
  if (running) return ordinary('probe', 'Its main program runs, and the probe of its start has not passed');
  if (awaitsArtifactsSince(pod) !== undefined)
    return isAgentReady
      ? ordinary('files', `The agent of ${node} fetches its files`)
      : ordinary('agent', `Its files wait for the agent of ${node}, which is not ready`);
  const init = runningInit(pod);
  if (init) return ordinary(init.name ?? '', `${capital(nameOf(init.name))} runs before it`);
  if (pod.status?.startTime === undefined) return ordinary('kubelet', `Its ${node} has not begun to start it`);
  return ordinary(...preparation(pod, node));
}

const mainState = ({ status }: Pod) => mainOf(status?.containerStatuses)?.state ?? {};

const usual = new Set([undefined, 'ContainerCreating', 'PodInitializing']);

/** The first container that waits for more than its turn, of the main one and those before it. Others beside it hold nothing up. */
const stuckContainer = ({ status }: Pod): ContainerStatus | undefined =>
  [...(status?.initContainerStatuses ?? []), mainOf(status?.containerStatuses)].find(
    (each) => !usual.has(each?.state?.waiting?.reason),
  );

/** A step that runs before the main program, and not one of the sidecars beside it. */
const runningInit = ({ spec, status }: Pod): ContainerStatus | undefined =>
  status?.initContainerStatuses?.find(
    ({ name, state }) =>
      state?.running && !spec?.initContainers?.some((each) => each.name === name && each.restartPolicy === 'Always'),
  );

const ofPull = /^(ErrImage|Image|InvalidImageName|RegistryUnavailable|SignatureValidationFailed)/;
/** What newer kubelets put before the error that they back off from. */
const backOff = /^Back-off pulling image "[^"]*": /;

function waitOfContainer({ name = '', state }: ContainerStatus, { spec }: Pod, node: string): PodWait {
  const { reason = '', message = '' } = state?.waiting ?? {};
  const words = backOff.test(message) ? message.replace(backOff, '') : [reason, message].filter(Boolean).join(': ');
  const container = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find((each) => each.name === name);
  const image = container?.['image'] as string | undefined;
  const what = ofPull.test(reason) ? `pull image '${image ?? ''}'` : `start ${nameOf(name)}`;
  const text = cut(`Its ${node} cannot ${what}: ${words}`, longestMessage);
  return { about: name, text, kind: reason.endsWith('BackOff') ? 'PAUSE' : 'FAULT', reason };
}

/** As users know it. */
function nameOf(container = ''): string {
  if (mainOf([{ name: container }])) return 'its container';
  const program = programOfContainer(container);
  if (!program) return `container '${container}' of its pod`;
  return `${program.role === 'INIT' ? 'init step' : 'sidecar'} '${program.name}'`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What the kubelet is about, in its order: volumes, network, images. Why these take long it tells in events alone. */
function preparation({ metadata, spec, status }: Pod, node: string): [about: string, text: string] {
  const isPrepared = status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
  const hint = `kubectl describe pod ${metadata?.name ?? ''} may tell more`;
  if (isPrepared === 'True') return ['images', `Its ${node} pulls its images, or makes its containers; ${hint}`];
  const objects = (spec?.volumes ?? []).flatMap(objectOfVolume);
  const which = objects.length > 0 ? ` (${objects.join(', ')})` : '';
  const further = isPrepared === undefined ? ', network and images' : ' and network';
  return ['volumes', cut(`Its ${node} prepares its volumes${which}${further}; ${hint}`, longestMessage)];
}

const objectOfVolume = ({ persistentVolumeClaim: claim, configMap, secret }: Volume): string[] => [
  ...(claim?.claimName === undefined ? [] : [`claim '${claim.claimName}'`]),
  ...(configMap?.name === undefined ? [] : [`config map '${configMap.name}'`]),
  ...(secret?.secretName === undefined ? [] : [`secret '${secret.secretName}'`]),
];

/** Since when it could have begun: it was made, or the last step before it has ended. */
function startingSince({ metadata, status }: Pod, now: number): number {
  const steps = (status?.initContainerStatuses ?? []).flatMap(
    ({ state }) => millisOf(state?.terminated?.finishedAt) ?? [],
  );
  return Math.max(millisOf(metadata?.creationTimestamp) ?? now, ...steps);
}

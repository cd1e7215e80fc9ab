import { expect, test } from 'vitest';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { artifactsOf, awaitsArtifactsSince, failureOfArtifacts } from './artifacts-of-pod.js';
import type { ContainerState, Pod } from './objects.js';
import { podOfTask } from './pod-of-task.js';
import { statusesOfPod } from './statuses-of-pod.js';
import { whyGivenUp } from './wait-of-pod.js';

const settings = KubernetesSettings.parse({ image: 'default:1' });
const prepared = { path: '/root/a/sandbox', artifacts: '/root/a/artifacts' };
const step = { name: 'one', environment: {}, timeoutMillis: 1, command: { shell: true, value: 'x', arguments: [] } };

test('what is fetched for a task is all that its deploy and its run bring', () => {
  expect(artifactsOf(launchSpec())).toBeUndefined();
  expect(artifactsOf(launchSpec({ executorData: { cmd: 'x', externalArtifacts: [] } }))).toBeUndefined();
  const uris = [{ uri: 'http://h/a' }];
  expect(artifactsOf(launchSpec({ requestId: 'r', artifacts: uris }))).toMatchObject({ requestId: 'r', uris });
  const embeddedArtifacts = [{ filename: 'a', content: '' }];
  expect(artifactsOf(launchSpec({ executorData: { cmd: 'x', embeddedArtifacts } }))).toMatchObject({
    uris: [],
    embeddedArtifacts,
  });
});

test('a container that may do nothing waits for its files before all others, where they are not', () => {
  const programs = { init: [step], sidecars: [], post: [step] };
  const { spec } = podOfTask(launchSpec({ programs, memoryMb: 64, cpus: 1 }), settings, prepared);
  const [first, ...others] = spec!.initContainers!;
  expect(others.map(({ name }) => name)).toEqual(['init-one', 'post']);
  expect(first).toMatchObject({
    name: 'artifacts',
    image: 'default:1',
    resources: { requests: { cpu: '0', memory: '0' }, limits: { memory: '64Mi' } },
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65_534,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'artifacts', mountPath: '/mnt/cluster/artifacts', readOnly: true }],
  });
  expect(spec!['volumes']).toContainEqual({
    name: 'artifacts',
    hostPath: { path: '/root/a/artifacts', type: 'Directory' },
  });
  // No program of the task gets there.
  for (const container of [...others, ...spec!.containers!])
    expect(JSON.stringify(container['volumeMounts'])).not.toContain('artifacts');
});

test('an image of its own is not what waits, and neither is its user', () => {
  const container = {
    type: 'DOCKER' as const,
    docker: { image: 'app:1', privileged: true, network: 'BRIDGE' as const },
  };
  const ofImage = KubernetesSettings.parse({ image: 'default:1', runAs: 'IMAGE_USER' });
  const [first] = podOfTask(launchSpec({ container }), ofImage, prepared).spec!.initContainers!;
  expect(first).toMatchObject({ image: 'default:1', securityContext: { runAsUser: 65_534 } });
  expect(first!['securityContext']).not.toHaveProperty('privileged');
});

const created = '2026-01-01T00:00:00Z';
const podWith = (state: ContainerState, changes: Pod['metadata'] = {}): Pod => ({
  metadata: { creationTimestamp: created, ...changes },
  status: {
    phase: state.terminated?.exitCode ? 'Failed' : 'Pending',
    initContainerStatuses: [{ name: 'artifacts', state }],
    containerStatuses: [{ name: 'task', state: { waiting: { reason: 'PodInitializing' } } }],
  },
});
const said = (message: string, exitCode = 1): Pod => podWith({ terminated: { exitCode, message } });
const fault = { state: 'TASK_FAILED', message: 'a: md5 1 instead of 2', reason: 'REASON_CONTAINER_LAUNCH_FAILED' };

test.each([
  { name: 'its deploy is to blame for', given: said(JSON.stringify(fault)), is: fault },
  {
    name: 'its node is to blame for',
    given: said(JSON.stringify({ state: 'TASK_LOST', message: 'The disk of this machine is full' })),
    is: { state: 'TASK_LOST', message: 'The disk of this machine is full' },
  },
  {
    name: 'nothing is said of',
    given: said(''),
    is: { state: 'TASK_LOST', message: 'Its files did not come: exit code 1' },
  },
  {
    name: 'is told in other words',
    given: said('{"state":"TASK_RUNNING","message":""}', 127),
    is: { state: 'TASK_LOST', message: 'Its files did not come: {"state":"TASK_RUNNING","message":""}' },
  },
])('a failure that $name ends the task', ({ given, is }) => {
  expect(failureOfArtifacts(given)).toEqual(is);
  expect(statusesOfPod(given).at(-1)).toMatchObject(is);
});

test('one that waits, or has got its files, has not ended; one that was killed meanwhile was killed', () => {
  for (const state of [{ running: { startedAt: created } }, { terminated: { exitCode: 0 } }]) {
    expect(failureOfArtifacts(podWith(state))).toBeUndefined();
    expect(statusesOfPod(podWith(state)).at(-1)).toMatchObject({ state: 'TASK_STARTING' });
  }
  const killed = podWith({ terminated: { exitCode: 143 } }, { annotations: { 'muster/killed': 'true' } });
  expect(statusesOfPod(killed).at(-1)).toMatchObject({ state: 'TASK_KILLED', message: 'Killed before it ran' });
});

test('one that waits is given up only when its agent is away for as long as a start may take', () => {
  const waits = podWith({ running: { startedAt: created } });
  const at = (seconds: number) => Date.parse(created) + seconds * 1_000;
  expect(awaitsArtifactsSince(waits)).toBe(at(0));
  expect(whyGivenUp(waits, at(9_999), 60_000, { isAgentReady: true })).toBeUndefined();
  expect(whyGivenUp(waits, at(59), 60_000, { isAgentReady: false })).toBeUndefined();
  expect(whyGivenUp(waits, at(60), 60_000, { isAgentReady: false })).toMatch(
    /within 60 s: the agent of its node is not ready/,
  );
  expect(whyGivenUp(podWith({ terminated: { exitCode: 0 } }), at(59), 60_000, { isAgentReady: false })).toBeUndefined();
});

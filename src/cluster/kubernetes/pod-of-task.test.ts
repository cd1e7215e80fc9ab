import { expect, test } from 'vitest';
import type { LaunchSpec } from '../../core/model/launch.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { wholeSeconds } from './container-values.js';
import { labelValueOf, podNameOf, taskIdOf } from './names.js';
import type { Pod } from './objects.js';
import { podOfTask, tombstoneOf, userOf } from './pod-of-task.js';
import { stopWords } from './stop-of-pod.js';

const settingsOf = (changes: object = {}) => KubernetesSettings.parse({ image: 'default:1', ...changes });
const podOf = (changes: Partial<LaunchSpec> = {}, settings: object = {}) =>
  podOfTask(launchSpec({ slaveId: 'n1', incarnation: 'u1', ...changes }), settingsOf(settings));
const containerOf = (changes: Partial<LaunchSpec> = {}, settings: object = {}) =>
  podOf(changes, settings).spec!.containers![0]!;
const inImage = (docker: object = {}, more: object = {}): LaunchSpec['container'] => ({
  type: 'DOCKER',
  docker: { image: 'app:2', privileged: false, network: 'BRIDGE', ...docker },
  ...more,
});

test('a plain command is a pod that may do nothing but run it', () => {
  const pod = podOf({ launchId: 'l1', requestId: 'r', cpus: 0.25, memoryMb: 64, killGraceMillis: 1_500 });
  expect(pod.metadata).toMatchObject({
    labels: { 'muster/installation': 'muster', 'muster/request': 'r' },
    annotations: {
      'muster/task-id': pod.metadata!.annotations!['muster/task-id'],
      'muster/launch-id': 'l1',
      'muster/incarnation': 'u1',
    },
    finalizers: ['muster/end'],
  });
  expect(pod.spec).toMatchObject({
    nodeName: 'n1',
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 2,
    securityContext: { runAsNonRoot: true, runAsUser: 65_534, seccompProfile: { type: 'RuntimeDefault' } },
  });
  expect(pod.spec).not.toHaveProperty('hostNetwork');
  expect(pod.spec!.containers).toHaveLength(1);
  expect(pod.spec!.containers![0]).toMatchObject({
    image: 'default:1',
    command: ['/bin/sh', '-c', 'sleep 600', 'sh'],
    workingDir: '/mnt/cluster/sandbox',
    resources: { requests: { cpu: '250m', memory: '64Mi' }, limits: { memory: '64Mi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  });
  expect(pod.spec!['volumes']).toEqual([{ name: 'sandbox', emptyDir: {} }]);
});

test.each([
  {
    name: 'a line for the shell',
    command: { shell: true, value: 'a $x', arguments: ['b'] },
    words: ['/bin/sh', '-c', 'a $$x', 'sh', 'b'],
  },
  { name: 'a program', command: { shell: false, value: 'a', arguments: ['b c'] }, words: ['a', 'b c'] },
  {
    name: 'a word that looks like a variable',
    command: { shell: false, value: 'a', arguments: ['$(X)', '$$(X)'] },
    words: ['a', '$$(X)', '$$$$(X)'],
  },
])('$name', ({ command, words }) => expect(containerOf({ command })).toMatchObject({ command: words }));

test('the words of a container go to what its image starts', () => {
  const command = { shell: false, value: 'serve', arguments: ['--all'] };
  expect(containerOf({ command, container: inImage() })).toMatchObject({ image: 'app:2', args: ['serve', '--all'] });
  expect(containerOf({ command, container: inImage() })).not.toHaveProperty('command');
  const none = { shell: false, value: '', arguments: [] };
  expect(containerOf({ command: none, container: inImage() })).toMatchObject({ args: [] });
});

test('a command of executorData is one text', () =>
  expect(
    containerOf({
      command: { shell: true, value: 'run it', arguments: ['-a', '-b'] },
      executorData: { cmd: 'run it' },
    }),
  ).toMatchObject({ command: ['/bin/sh', '-c', 'run it -a -b'] }));

test('a command of executorData runs in its own directory, where an agent has made one', () => {
  const spec = launchSpec({ executorData: { cmd: 'run' } });
  const directoryOf = (pod: Pod) => pod.spec!.containers![0]!['workingDir'];
  expect(directoryOf(podOfTask(spec, settingsOf()))).toBe('/mnt/cluster/sandbox');
  expect(directoryOf(podOfTask(spec, settingsOf(), { path: '/a' }))).toBe('/mnt/cluster/sandbox/app');
  expect(directoryOf(podOfTask(launchSpec(), settingsOf(), { path: '/a' }))).toBe('/mnt/cluster/sandbox');
});

test('a limit of open files is set before the command, which takes the place of what sets it', () =>
  expect(
    containerOf({
      command: { shell: true, value: 'run $it', arguments: ['-a'] },
      executorData: { cmd: 'run $it', maxOpenFiles: 64 },
    }),
  ).toMatchObject({
    command: ['/bin/sh', '-c', 'ulimit -n 64 || exit 125; exec "$$@"', 'sh', '/bin/sh', '-c', 'run $$it -a'],
  }));

test('extended resources are asked for and limited alike', () => {
  const { resources } = containerOf({ extended: { 'a.b/gpu': 2 } });
  expect(resources).toMatchObject({ requests: { 'a.b/gpu': '2' }, limits: { 'a.b/gpu': '2' } });
});

test('claims, config maps and secrets are volumes, and values of secrets are variables', () => {
  const source = (type: 'PERSISTENT_VOLUME_CLAIM' | 'CONFIG_MAP' | 'SECRET', name: string) => ({ type, name });
  const volumes = [
    { containerPath: '/data', mode: 'RW' as const, source: source('PERSISTENT_VOLUME_CLAIM', 'data-1') },
    { containerPath: '/config', source: source('CONFIG_MAP', 'settings') },
    { containerPath: '/keys', mode: 'RO' as const, source: source('SECRET', 'keys') },
  ];
  const secretEnvironment = [{ name: 'PASSWORD', secret: 'keys', key: 'db' }];
  const container = inImage({}, { volumes });
  const { spec } = podOf({ container, environment: { A: 'b' }, secretEnvironment });
  expect((spec!['volumes'] as object[]).slice(1)).toEqual([
    { name: 'volume-0', persistentVolumeClaim: { claimName: 'data-1' } },
    { name: 'volume-1', configMap: { name: 'settings' } },
    { name: 'volume-2', secret: { secretName: 'keys', defaultMode: 0o440 } },
  ]);
  expect(spec!.containers![0]!['volumeMounts']).toMatchObject([
    {},
    { mountPath: '/data', readOnly: false },
    { mountPath: '/config', readOnly: true },
    { mountPath: '/keys', readOnly: true },
  ]);
  expect(spec!.containers![0]!['env']).toEqual([
    { name: 'A', value: 'b' },
    { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'db' } } },
  ]);
  // Nobody knows the group of an image's user.
  const ofImage = podOf({ container }, { runAs: 'IMAGE_USER' });
  expect((ofImage.spec!['volumes'] as object[])[3]).toEqual({ name: 'volume-2', secret: { secretName: 'keys' } });
});

test('an account comes with its token only where the deploy names it', () => {
  const settings = { serviceAccount: 'tasks' };
  expect(podOf({}, settings).spec).toMatchObject({ serviceAccountName: 'tasks', automountServiceAccountToken: false });
  expect(podOf({ serviceAccount: 'own' }, settings).spec).toMatchObject({
    serviceAccountName: 'own',
    automountServiceAccountToken: true,
  });
});

test('the priority class is that of the settings', () => {
  expect(podOf().spec).not.toHaveProperty('priorityClassName');
  expect(podOf({}, { priorityClass: 'batch' }).spec).toMatchObject({ priorityClassName: 'batch' });
});

test('variables are taken as they are', () =>
  expect(containerOf({ environment: { A: '$(B) $$', B: 'x' } })['env']).toEqual([
    { name: 'A', value: '$$(B) $$$$' },
    { name: 'B', value: 'x' },
  ]));

test('ports are those of the node, mapped as the deploy says', () => {
  expect(containerOf({ ports: [20_001, 20_002] }).ports).toEqual([
    { hostPort: 20_001, containerPort: 20_001, protocol: 'TCP' },
    { hostPort: 20_002, containerPort: 20_002, protocol: 'TCP' },
  ]);
  const portMappings = [{ hostPort: 20_001, containerPort: 80, protocol: 'udp' }];
  expect(containerOf({ ports: [20_001], container: inImage({ portMappings }) }).ports).toEqual([
    { hostPort: 20_001, containerPort: 80, protocol: 'UDP' },
  ]);
  const onHost = podOf({ ports: [20_001], container: inImage({ network: 'HOST', portMappings }) });
  expect(onHost.spec).toMatchObject({ hostNetwork: true });
  expect(onHost.spec!.containers![0]!.ports).toEqual([{ hostPort: 20_001, containerPort: 20_001, protocol: 'UDP' }]);
});

test('volumes, pulls, privileges and users are as deploy and settings say', () => {
  const volumes = [{ hostPath: '/data/a', containerPath: '/a', mode: 'RW' as const }, { containerPath: '/data/b' }];
  const pod = podOf(
    { container: inImage({ forcePullImage: true, privileged: true }, { volumes }), user: 'app' },
    { users: { app: 1_234 } },
  );
  expect(pod.spec!['volumes']).toEqual([
    { name: 'sandbox', emptyDir: {} },
    { name: 'volume-0', hostPath: { path: '/data/a' } },
    { name: 'volume-1', hostPath: { path: '/data/b' } },
  ]);
  expect(pod.spec).toMatchObject({ securityContext: { runAsUser: 1_234 } });
  expect(pod.spec!.containers![0]).toMatchObject({
    imagePullPolicy: 'Always',
    securityContext: { privileged: true },
    volumeMounts: [{}, { mountPath: '/a', readOnly: false }, { mountPath: '/data/b', readOnly: true }],
  });
  expect(podOf({}, { runAs: 'IMAGE_USER' }).spec!['securityContext']).toEqual({
    seccompProfile: { type: 'RuntimeDefault' },
  });
});

test('limits, a file of health, and what the operator adds', () => {
  const healthcheckResultFile = { path: 'ok', intervalSeconds: 5, timeoutSeconds: 61 };
  const pod = podOf(
    { cpuHardLimit: 2, diskMb: 10, healthcheckResultFile, successfulExitCodes: [3, 4] },
    {
      serviceAccount: 'tasks',
      pullSecrets: ['registry'],
      tolerations: [{ key: 'gpu' }, { key: 'a', value: 'b', effect: 'NoSchedule' }],
    },
  );
  expect(pod.metadata!.annotations).toMatchObject({ 'muster/successful-exit-codes': '3,4' });
  expect(pod.spec!.containers![0]).toMatchObject({
    resources: { limits: { cpu: '2000m', 'ephemeral-storage': '10Mi' } },
    startupProbe: { exec: { command: ['test', '-e', 'ok'] }, periodSeconds: 5, failureThreshold: 13 },
  });
  expect(pod.spec).toMatchObject({ serviceAccountName: 'tasks', imagePullSecrets: [{ name: 'registry' }] });
  expect(pod.spec!['tolerations']).toEqual(
    expect.arrayContaining([
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
      { key: 'gpu', operator: 'Exists' },
      { key: 'a', operator: 'Equal', value: 'b', effect: 'NoSchedule' },
    ]),
  );
});

test('a tombstone has the name of the pod, and never runs', () => {
  const tombstone = tombstoneOf('a-task', settingsOf());
  expect(tombstone.metadata?.name).toBe(podOf({ taskId: 'a-task' }).metadata?.name);
  expect(tombstone.spec).toMatchObject({ schedulingGates: [{ name: 'muster/tombstone' }] });
  expect(tombstone.spec).not.toHaveProperty('nodeName');
});

test.each([
  'request-deploy-1-1-host-rack',
  'Über_Request.1-d-1-1-10_0_0_1-eu_west',
  '---',
  `${'x'.repeat(300)}-d-1-1-h-r`,
])('the pod of the task %s has a name that Kubernetes takes, and its task is known by it', (taskId) => {
  const name = podNameOf('muster', taskId);
  expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
  expect(name.length).toBeLessThanOrEqual(63);
  expect(podNameOf('other', taskId).endsWith(name.slice(-24))).toBe(false);
  const metadata = { name, annotations: { 'muster/task-id': taskId } };
  expect(taskIdOf('muster', metadata)).toBe(taskId);
  expect(taskIdOf('muster', { ...metadata, name: `${name}x` })).toBeUndefined();
  expect(taskIdOf('muster', { name })).toBeUndefined();
  expect(labelValueOf(taskId)).toMatch(/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/);
});

test.each([
  [0, 1],
  [1, 1],
  [1_001, 2],
  [60_000, 60],
])('a grace of %d ms is %d s: none would remove a pod that runs', (millis, seconds) =>
  expect(wholeSeconds(millis)).toBe(seconds),
);

test('its files are in a folder of its node that is there, where an agent has made one', () => {
  const directoryOf = (pod: Pod) => (pod.spec!['volumes'] as object[])[0];
  expect(directoryOf(podOf())).toEqual({ name: 'sandbox', emptyDir: {} });
  const pod = podOfTask(launchSpec(), settingsOf(), { path: '/var/lib/muster/muster/pods/a/sandbox' });
  const hostPath = { path: '/var/lib/muster/muster/pods/a/sandbox', type: 'Directory' };
  expect(directoryOf(pod)).toEqual({ name: 'sandbox', hostPath });
  expect(pod.spec!.containers![0]!['volumeMounts']).toEqual([{ name: 'sandbox', mountPath: '/mnt/cluster/sandbox' }]);
});

test('whose the folder is says the pod, unless its image does', () => {
  const users = { app: 1_000 };
  expect(userOf(launchSpec({ user: 'app' }), settingsOf({ users, runAs: 'IMAGE_USER' }))).toBe(1_000);
  expect(userOf(launchSpec(), settingsOf({ runAsUser: 70_000 }))).toBe(70_000);
  expect(userOf(launchSpec(), settingsOf({ runAs: 'IMAGE_USER' }))).toBeUndefined();
});

test('what is done before the end is a hook of the pod, which calls the port within it', () => {
  const words = (changes: Partial<LaunchSpec>) => stopWords(launchSpec(changes))?.slice(4);
  const command = { command: 'drain $(now)', timeoutMillis: 1_500 };
  expect(words({ preStop: command })).toEqual(['drain $(now)', '2', '']);
  expect(containerOf({ preStop: command })).toMatchObject({
    lifecycle: { preStop: { exec: { command: stopWords(launchSpec({ preStop: command })) } } },
  });
  expect(words({ preStop: command, killSignal: 'SIGQUIT' })).toEqual(['drain $(now)', '2', 'QUIT']);
  expect(words({ killSignal: 'SIGTERM' })).toBeUndefined();
  expect(words({ killSignal: 'SIGTERM', container: inImage({}) })).toEqual(['', '1', 'TERM']);
  const container = inImage({ portMappings: [{ hostPort: 31_000, containerPort: 8080 }] });
  const http = { http: { uri: '/drain', port: 31_000 }, timeoutMillis: 5 };
  expect(containerOf({ ports: [31_000], container, preStop: http })).toMatchObject({
    lifecycle: { preStop: { httpGet: { path: '/drain', port: 8080 } } },
  });
  expect(containerOf()).not.toHaveProperty('lifecycle');
});

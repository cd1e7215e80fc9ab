import { expect, test } from 'vitest';
import type { Deploy } from '../../core/model/deploy.js';
import { KubernetesSettings } from '../../platform/settings/kubernetes-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import { refusalOfLaunch, refusalOfUser, unsupportedInRun, unsupportedOnKubernetes } from './supported.js';

const settings = KubernetesSettings.parse({ allowedHostPaths: ['/data'], users: { app: 1_000 } });
const withAgents = { ...settings, agents: { secretFile: '/secret' } };
const fields = (deploy: Partial<Deploy>, of = settings): string[] =>
  unsupportedOnKubernetes({ requestId: 'r', id: 'd', ...deploy }, of).map(({ field }) => field);
const docker = (changes: object = {}, more: object = {}): Partial<Deploy> => ({
  containerInfo: {
    type: 'DOCKER',
    docker: { image: 'app:1', privileged: false, network: 'BRIDGE', ...changes },
    ...more,
  },
});

test.each([
  { name: 'a plain command', deploy: { command: 'true', env: { A: 'b' } }, is: [] },
  {
    name: 'an end as pods have it',
    deploy: { killSignal: 'SIGTERM', killGracePeriodMillis: 5_000, preStop: { command: 'x' } },
    is: [],
  },
  {
    name: 'another signal, and a limit of its preStop',
    deploy: { killSignal: 'SIGINT', preStop: { command: 'x', timeoutMillis: 5 } },
    is: [],
  },
  {
    name: 'a call as preStop, which takes the only hook and has no limit of its own',
    deploy: { killSignal: 'SIGINT', preStop: { http: { uri: '/' }, timeoutMillis: 5 } },
    is: ['killSignal', 'preStop.timeoutMillis'],
  },
  { name: 'a call as preStop', deploy: { killSignal: 'SIGTERM', preStop: { http: { uri: '/' } } }, is: [] },
  { name: 'a check by TCP', deploy: { healthcheck: { type: 'TCP', liveness: {} } }, is: [] },
  {
    name: 'a check by a command, where nodes have no agents',
    deploy: { healthcheck: { type: 'COMMAND', command: 'x' } },
    is: ['healthcheck.type'],
  },
  {
    name: 'a check by a command, where they have',
    deploy: { healthcheck: { type: 'COMMAND', command: 'x' } },
    of: withAgents,
    is: [],
  },
  { name: 'a container', deploy: docker({ portMappings: [{ hostPort: 20_000, containerPort: 80 }] }), is: [] },
  {
    name: 'a volume of an allowed folder',
    deploy: docker({}, { volumes: [{ hostPath: '/data', containerPath: '/x' }] }),
    is: [],
  },
  {
    name: 'one of another',
    deploy: docker(
      {},
      { volumes: ['/etc', '/data/x', '/data/x/..'].map((hostPath) => ({ hostPath, containerPath: '/x' })) },
    ),
    is: [0, 1, 2].map((index) => `containerInfo.volumes[${index}].hostPath`),
  },
  {
    name: 'one that leaves it',
    deploy: docker({}, { volumes: [{ hostPath: '/data/../etc', containerPath: '/x' }] }),
    is: ['containerInfo.volumes[0].hostPath', 'containerInfo.volumes[0].hostPath'],
  },
  {
    name: 'one without a folder of its own',
    deploy: docker({}, { volumes: [{ containerPath: '/etc' }] }),
    is: ['containerInfo.volumes[0].containerPath'],
  },
  {
    name: 'one of an engine',
    deploy: docker(
      {},
      { volumes: [{ containerPath: '/x', source: { type: 'DOCKER_VOLUME', dockerVolume: { name: 'v' } } }] },
    ),
    is: ['containerInfo.volumes[0].source'],
  },
  { name: 'privileges', deploy: docker({ privileged: true }), is: ['containerInfo.docker.privileged'] },
  { name: 'the network of the node', deploy: docker({ network: 'HOST' }), is: ['containerInfo.docker.network'] },
  {
    name: 'the same where nothing is said',
    deploy: { ...docker({ network: undefined }), executorData: { cmd: 'x' } },
    is: ['containerInfo.docker.network'],
  },
  { name: 'no network', deploy: docker({ network: 'NONE' }), is: ['containerInfo.docker.network'] },
  {
    name: 'a named network',
    deploy: docker({}, { networkInfos: [{ name: 'blue' }] }),
    is: ['containerInfo.networkInfos[0].name'],
  },
  {
    name: 'options of an engine',
    deploy: docker({ parameters: { 'cap-add': 'ALL' }, dockerParameters: [{ key: 'user', value: '0' }] }),
    is: ['containerInfo.docker.parameters', 'containerInfo.docker.dockerParameters'],
  },
  { name: 'no image', deploy: docker({ image: 'docker-archive:/etc/x' }), is: ['containerInfo.docker.image'] },
  { name: 'a foreign executor', deploy: { customExecutorCmd: '/x' }, is: ['customExecutorCmd'] },
  {
    name: 'executorData that says how to run',
    deploy: {
      executorData: {
        cmd: 'x',
        extraCmdLineArgs: ['y'],
        successfulExitCodes: [1],
        embeddedArtifacts: [],
        skipLogrotateAndCompress: false,
      },
    },
    is: [],
  },
  {
    name: 'executorData that an agent would carry out',
    deploy: { executorData: { cmd: 'x', maxOpenFiles: 7, maxTaskThreads: 3, embeddedArtifacts: [{}] } },
    is: ['executorData.embeddedArtifacts', 'executorData.maxTaskThreads'],
  },
  {
    name: 'files to fetch without agents',
    deploy: { uris: [{ uri: 'http://h/a' }], runImmediately: { extraArtifacts: [{ uri: 'http://h/a' }] } },
    is: ['runImmediately.extraArtifacts', 'uris'],
  },
  {
    name: 'files to upload',
    deploy: { objstoreUploaderAdditionalFiles: [{}] },
    is: ['objstoreUploaderAdditionalFiles'],
  },
  {
    name: 'variables',
    deploy: { env: { 'a=b': '', 'a.b': '' }, taskEnv: { 1: { a: '\0' } } },
    is: ['env.a=b', 'taskEnv.1.a'],
  },
  {
    name: 'a health file outside',
    deploy: { healthcheck: { healthcheckResultFilePath: '../x' } },
    is: ['healthcheck.healthcheckResultFilePath'],
  },
])('$name', ({ deploy, is, of }) => expect(fields(deploy as Partial<Deploy>, of).toSorted()).toEqual(is.toSorted()));

test('rotation and upload of logs are for agents, and refused without them', () => {
  const deploy: Partial<Deploy> = {
    executorData: { cmd: 'x', logrotateFrequency: 'HOURLY', skipLogrotateAndCompress: true },
    objstoreUploaderAdditionalFiles: [{ filename: 'gc.log' }],
  };
  expect(fields(deploy)).toEqual([
    'executorData.logrotateFrequency',
    'executorData.skipLogrotateAndCompress',
    'objstoreUploaderAdditionalFiles',
  ]);
  expect(fields(deploy, withAgents)).toEqual([]);
});

const file = { filename: 'a', objstoreBucket: 'b', objstoreObjectKey: 'k' };
test.each([
  {
    name: 'files of all kinds, and limits',
    deploy: {
      uris: [{ uri: 'http://h/a' }],
      runImmediately: { extraArtifacts: [{ uri: 'https://h/a' }] },
      executorData: {
        cmd: 'x',
        embeddedArtifacts: [{ filename: 'a', content: '' }],
        externalArtifacts: [{ filename: 'a', url: 'http://h/a' }],
        objstoreArtifacts: [file],
        objstoreArtifactSignatures: [file],
        maxTaskThreads: 3,
        preserveTaskSandboxAfterFinish: true,
      },
    },
    is: [],
  },
  {
    name: 'files of the node',
    deploy: {
      uris: [{ uri: '/etc/passwd' }, { uri: 'FILE:///etc/passwd' }],
      runImmediately: { extraArtifacts: [{ uri: '/etc/passwd' }] },
      executorData: { cmd: 'x', externalArtifacts: [{ filename: 'a', url: 'file:///etc/passwd' }] },
    },
    is: ['executorData.externalArtifacts[0].url', 'runImmediately.extraArtifacts[0].uri', 'uris[0].uri', 'uris[1].uri'],
  },
  {
    name: 'files without a place, or for one outside',
    deploy: {
      uris: [{ uri: 'ftp://h/a' }, { uri: 'http://h/' }],
      executorData: {
        cmd: 'x',
        embeddedArtifacts: [{ filename: '../a' }],
        objstoreArtifacts: [{ filename: 'a' }],
        externalArtifacts: [{ filename: 'a', url: 'http://h/a', targetFolderRelativeToTask: '../x' }],
      },
    },
    is: [
      'executorData.embeddedArtifacts[0].filename',
      'executorData.externalArtifacts[0].targetFolderRelativeToTask',
      'executorData.objstoreArtifacts[0].objstoreBucket',
      'executorData.objstoreArtifacts[0].objstoreObjectKey',
      'uris[0].uri',
      'uris[1].outputFile',
    ],
  },
])('with agents: $name', ({ deploy, is }) =>
  expect(
    unsupportedOnKubernetes({ requestId: 'r', id: 'd', ...(deploy as Partial<Deploy>) }, withAgents)
      .map(({ field }) => field)
      .toSorted(),
  ).toEqual(is),
);

test('which setting would allow it is said', () =>
  expect(
    unsupportedOnKubernetes({ requestId: 'r', id: 'd', ...docker({ privileged: true }) }, settings)[0]?.message,
  ).toContain('the setting cluster.kubernetes.allowPrivileged'));

test('runs bring files where there are agents', () => {
  const run = { envOverrides: { 'a=': '' }, extraArtifacts: [{ uri: 'http://h/a' }] };
  const refused = (by: KubernetesSettings) => unsupportedInRun(run, by).map(({ field }) => field);
  expect([refused(settings), refused(withAgents)]).toEqual([
    ['envOverrides.a=', 'extraArtifacts'],
    ['envOverrides.a='],
  ]);
});

test('users are those of the settings', () => {
  expect(refusalOfUser('app', settings)).toBeUndefined();
  for (const user of ['root', '0', '1000', 'toString', '__proto__'])
    expect(refusalOfUser(user, settings)).toContain('cluster.kubernetes.users');
});

test('a launch is judged again, as its settings are now', () => {
  const { containerInfo } = docker({ privileged: true });
  expect(refusalOfLaunch(launchSpec({ container: containerInfo }), settings)).toContain('privileged');
  expect(
    refusalOfLaunch(launchSpec({ container: containerInfo }), { ...settings, allowPrivileged: true }),
  ).toBeUndefined();
  expect(refusalOfLaunch(launchSpec({ user: 'root' }), settings)).toContain('users');
  const executorData = { cmd: 'x', embeddedArtifacts: [{ filename: 'a' }] };
  for (const [spec, field] of [
    [launchSpec({ artifacts: [{ uri: 'http://h/a' }] }), 'uris'],
    [launchSpec({ executorData }), 'executorData.embeddedArtifacts'],
  ] as const) {
    expect(refusalOfLaunch(spec, settings)).toContain(field);
    expect(refusalOfLaunch(spec, withAgents)).toBeUndefined();
  }
  expect(refusalOfLaunch(launchSpec({ artifacts: [{ uri: '/etc/x' }] }), withAgents)).toContain('uris[0].uri');
});

test.each([
  { name: 'of a group that may', group: 'ops', is: [] },
  { name: 'of another', group: 'web', is: ['volumes[0].hostPath', 'docker.network', 'docker.privileged'] },
  { name: 'without a group', group: undefined, is: ['volumes[0].hostPath', 'docker.network', 'docker.privileged'] },
])('access to nodes is refused to a request $name: $is', ({ group, is }) => {
  const open = KubernetesSettings.parse({
    allowedHostPaths: ['/data'],
    allowPrivileged: true,
    allowedNetworks: ['BRIDGE', 'HOST'],
    nodeAccessGroups: ['ops'],
  });
  const refused = (deploy: Partial<Deploy>) =>
    unsupportedOnKubernetes({ requestId: 'r', id: 'd', ...deploy }, open, group).map(({ field }) => field);
  expect(refused(docker())).toEqual([]);
  const all = [
    ...refused(docker({}, { volumes: [{ hostPath: '/data', containerPath: '/x' }] })),
    ...refused(docker({ network: 'HOST' })),
    ...refused(docker({ privileged: true })),
  ];
  expect(all).toEqual(is.map((field) => `containerInfo.${field}`));
  const { containerInfo: container } = docker({ privileged: true });
  expect(refusalOfLaunch(launchSpec({ container, group }), open) === undefined).toBe(is.length === 0);
});

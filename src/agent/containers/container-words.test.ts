import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContainerInfo, DockerInfo } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import {
  containerEnvironment,
  containerName,
  type ContainerPlan,
  createWords,
  environmentFile,
} from './container-words.js';

const plan = (
  container: Partial<ContainerInfo> & { docker?: DockerInfo },
  changes: Partial<LaunchSpec> = {},
  more: Partial<ContainerPlan> = {},
): ContainerPlan => ({
  engine: { kind: 'podman', words: ['podman'], version: '4' },
  settings: ContainerSettings.parse({}),
  spec: { ...launchSpec(changes), container: { type: 'DOCKER', ...container } },
  sandbox: { root: '/s' },
  name: 'se-1',
  agentKey: 'key',
  envFile: '/control/container.env',
  runAs: { uid: 7, gid: 8, home: '/', name: '7', own: true, prefix: [] },
  maxProcesses: 99,
  hostPaths: [],
  ...more,
});
const docker = (changes: Partial<DockerInfo> = {}): DockerInfo => ({ image: 'app', privileged: false, ...changes });
const words = (...parts: Parameters<typeof plan>) => createWords(plan(...parts));

test('rights, limits and places of a container', () =>
  expect(words({ docker: docker() }, { cpuHardLimit: 2, memoryMb: 64, cpus: 0.5 })).toEqual([
    'create',
    '--name=se-1',
    '--label=muster.agent=key',
    '--label=muster.task=request-deploy-1-1-host-rack',
    '--log-driver=none',
    '--pull=never',
    '--env-file=/control/container.env',
    '--pids-limit=99',
    '--cpu-shares=512',
    '--memory=67108864b',
    '--cpu-period=100000',
    '--cpu-quota=200000',
    '--security-opt=no-new-privileges',
    '--cap-drop=all',
    '--user=7:8',
    '--mount=type=bind,source=/s,destination=/mnt/cluster/sandbox',
    '--entrypoint=/bin/sh',
    'app',
    '-c',
    'sleep 600',
    'sh',
  ]));

test.each<[string, Parameters<typeof plan>, string[]]>([
  ['privileged is all there is', [{ docker: docker({ privileged: true }) }], ['--privileged']],
  [
    'the network of the machine publishes nothing',
    [{ docker: docker({ network: 'HOST', portMappings: [{ hostPort: 1, containerPort: 2 }] }) }],
    ['--network=host'],
  ],
  [
    'ports of a bridge',
    [{ docker: docker({ network: 'BRIDGE', portMappings: [{ hostPort: 1, containerPort: 2, protocol: 'udp' }] }) }],
    ['--network=bridge', '--publish=1:2/udp'],
  ],
  [
    'networks by name, with their ports',
    [
      {
        docker: docker(),
        networkInfos: [
          {
            name: 'web',
            portMappings: [
              { hostPort: 5, containerPort: 5 },
              { hostPort: 5, containerPort: 5, protocol: 'tcp' },
            ],
          },
        ],
      },
    ],
    ['--network=web', '--publish=5:5/tcp'],
  ],
  [
    'parameters of both forms',
    [
      {
        docker: docker({
          parameters: { h: 'x' },
          dockerParameters: [{ key: 'init' }, { key: 'workdir', value: '/w' }],
        }),
      },
    ],
    ['-h=x', '--init', '--workdir=/w'],
  ],
  ['open files', [{ docker: docker() }, { executorData: { cmd: 'x', maxOpenFiles: 7 } }], ['--ulimit=nofile=7:7']],
  [
    'volumes',
    [
      {
        docker: docker(),
        volumes: [
          { containerPath: '/a', mode: 'RW' },
          { containerPath: '/b' },
          {
            containerPath: '/c',
            mode: 'RW',
            source: { type: 'DOCKER_VOLUME', dockerVolume: { name: 'v', driver: 'nfs', driverOptions: { k: 'w' } } },
          },
        ],
      },
      {},
      { hostPaths: ['/real/a', '/real/b', undefined] },
    ],
    [
      '--mount=type=bind,source=/real/a,destination=/a',
      '--mount=type=bind,source=/real/b,destination=/b,readonly',
      '--mount=type=volume,source=v,destination=/c,volume-driver=nfs,volume-opt=k=w',
    ],
  ],
])('%s', (_name, parts, are) => expect(words(...parts)).toEqual(expect.arrayContaining(are)));

test('an executor has the network of the machine, and its command is text for a shell', () => {
  const found = words(
    { docker: docker() },
    { executorData: { cmd: 'x' }, command: { shell: true, value: 'run "a b"', arguments: ['$X'] } },
  );
  expect(found).toContain('--network=host');
  expect(found.slice(-5)).toEqual(['app', '/bin/sh', '-c', '--', 'run "a b" $X']);
});

test('whatever a deploy says, no word of it is an option before the image but those of its parameters', () =>
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string()), fc.boolean(), (value, others, shell) => {
      const found = words({ docker: docker() }, { command: { shell, value, arguments: others } });
      const before = found.slice(1, found.indexOf('app'));
      expect(before.every((word) => word.startsWith('--') && word.includes('='))).toBe(true);
    }),
  ));

test('names are those of the task, or a form of its own that engines take', () => {
  expect(containerName('se-', 'r-d-1-2-h-r')).toBe('se-r-d-1-2-h-r');
  const odd = ['r:1', 'r/1', 'r 1', 'é', 'x'.repeat(400)].map((id) => containerName('se-', id));
  expect(odd.every((name) => /^se-[A-Za-z0-9_.-]{1,197}$/.test(name))).toBe(true);
  expect(new Set(odd).size).toBe(odd.length);
});

test('variables are lines of a file; what no line can hold is refused', () => {
  expect(environmentFile({ A: 'b "c" $d #e', B: '' })).toBe('A=b "c" $d #e\nB=\n');
  expect(() => environmentFile({ A: 'b\nLD_PRELOAD=x' })).toThrow('Variable A has a line break');
  expect(() => environmentFile({ A: 'x'.repeat(70_000) })).toThrow('too long');
  const { spec, sandbox } = plan({ docker: docker() }, { environment: { A: 'deploy', B: 'deploy' } });
  const settings = ContainerSettings.parse({ dockerInheritVariables: ['A', 'C'] });
  expect(containerEnvironment({ spec, sandbox, settings }, { A: 'agent' })).toMatchObject({
    A: 'agent',
    B: 'deploy',
    CLUSTER_SANDBOX: '/mnt/cluster/sandbox',
    HOST_SANDBOX_DIR: '/s',
  });
});

import { describe, expect, test } from 'vitest';
import type { ContainerInfo, DockerInfo, Volume } from '../../core/model/deploy.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { containerProblems, refusedHostPath } from './rules.js';

const closed = ContainerSettings.parse({});
const docker = (changes: Partial<DockerInfo> = {}, more: Partial<ContainerInfo> = {}): ContainerInfo => ({
  type: 'DOCKER',
  docker: { image: 'app', privileged: false, ...changes },
  ...more,
});
const volume = (...volumes: Volume[]) => docker({}, { volumes });
const fields = (info: ContainerInfo, settings: object = {}, isManaged = false) =>
  containerProblems(info, { isManaged, policy: ContainerSettings.parse(settings) }).map(({ field }) => field);

describe('with the settings as they are by default', () => {
  test.each<[string, ContainerInfo]>([
    ['a plain image', docker()],
    ['one of a registry, by its digest', docker({ image: `r.example:5000/a/b_c:v1@sha256:${'a'.repeat(64)}` })],
    ['a network of its own, and none', docker({ network: 'NONE' })],
    ['ports', docker({ network: 'BRIDGE', portMappings: [{ containerPort: 80, hostPort: 31_000, protocol: 'udp' }] })],
    ['what reaches nothing', docker({ parameters: { workdir: '/x' }, dockerParameters: [{ key: 'init' }] })],
    ['an image of type MESOS', { type: 'MESOS', cluster: { image: { type: 'DOCKER', docker: { name: 'app' } } } }],
  ])('%s is taken', (_name, info) => expect(fields(info)).toEqual([]));

  test.each<[string, ContainerInfo, string[]]>([
    ['privileged', docker({ privileged: true }), ['containerInfo.docker.privileged']],
    ['the network of the machine', docker({ network: 'HOST' }), ['containerInfo.docker.network']],
    [
      'options',
      docker({
        dockerParameters: ['pid', 'device', 'cap-add', 'user', 'u', 'security-opt', 'ipc', 'uts', 'userns', 'gpus'].map(
          (key) => ({ key, value: 'host' }),
        ),
      }),
      Array.from({ length: 10 }, (_, index) => `containerInfo.docker.dockerParameters[${index}]`),
    ],
    [
      'options that need a value and have none, and switches that have one',
      docker({
        parameters: { h: '' },
        dockerParameters: [
          { key: 'hostname', value: '' },
          { key: 'hostname' },
          { key: 'w', value: '' },
          { key: 'stop-signal' },
          { key: 'init', value: 'x' },
        ],
      }),
      [
        'containerInfo.docker.parameters.h',
        ...Array.from({ length: 5 }, (_, index) => `containerInfo.docker.dockerParameters[${index}]`),
      ],
    ],
    ['the number of an image', docker({ image: `sha256:${'a'.repeat(64)}` }), ['containerInfo.docker.image']],
    [
      'options of the older form',
      docker({ parameters: { 'cap-add': 'ALL' } }),
      ['containerInfo.docker.parameters.cap-add'],
    ],
    [
      'options that are none',
      docker({ dockerParameters: [{ key: '-v' }, { key: 'a=b' }, { key: '' }, { value: 'x' }, { key: 'a b' }] }),
      Array.from({ length: 5 }, (_, index) => `containerInfo.docker.dockerParameters[${index}].key`),
    ],
    [
      'a folder of the machine',
      volume({ containerPath: '/x', hostPath: '/etc' }),
      ['containerInfo.volumes[0].hostPath'],
    ],
    ['the same folder of the machine', volume({ containerPath: '/etc' }), ['containerInfo.volumes[0].containerPath']],
    [
      'a volume of the engine',
      volume({ containerPath: '/x', source: { type: 'DOCKER_VOLUME', dockerVolume: { name: 'v%i' } } }),
      ['containerInfo.volumes[0].source.dockerVolume.name'],
    ],
    ['a network by its name', docker({}, { networkInfos: [{ name: 'web' }] }), ['containerInfo.networkInfos[0].name']],
    ['groups', docker({}, { networkInfos: [{ groups: ['a'] }] }), ['containerInfo.networkInfos[0].groups']],
    ['no image', { type: 'MESOS', volumes: [], networkInfos: [{}] }, ['containerInfo.cluster.image']],
    [
      'an image of another kind',
      { type: 'MESOS', cluster: { image: { type: 'APPC', appc: { name: 'x' } } } },
      ['containerInfo.cluster.image.type'],
    ],
  ])('%s is refused by name', (_name, info, is) => expect(fields(info)).toEqual(is));

  test('a network that is not named is one that must be allowed, too', () => {
    const image = { type: 'MESOS' as const, cluster: { image: { type: 'DOCKER' as const, docker: { name: 'app' } } } };
    for (const isManaged of [true, false])
      expect(fields(image, { allowedNetworks: [] }, isManaged)).toEqual(['containerInfo.docker.network']);
  });

  test('an executor that names no network would have that of the machine', () => {
    expect(fields(docker(), {}, true)).toEqual(['containerInfo.docker.network']);
    expect(fields(docker({ network: 'BRIDGE' }), {}, true)).toEqual([]);
    expect(fields(docker(), { allowedNetworks: ['HOST'] }, true)).toEqual([]);
  });
});

test.each([
  '-v',
  '--privileged',
  'a b',
  'a\nb',
  'A//b',
  'a;b',
  '',
  'dir:etc',
  'oci-archive:x',
  'docker://x',
  '/etc/passwd',
  '../x',
  `a${'b'.repeat(600)}`,
])('%j is no image', (image) => expect(fields(docker({ image }))).toEqual(['containerInfo.docker.image']));

test('what the operator allows is taken, and nothing beside it', () => {
  const settings = {
    allowPrivileged: true,
    allowedNetworks: ['BRIDGE', 'HOST', 'web'],
    allowedParameters: ['device'],
    allowedHostPaths: ['/data/'],
    allowedVolumes: ['cache-*', 'one'],
    allowedVolumeDrivers: ['nfs'],
  };
  const named = (name: string, more: object = {}): Volume => ({
    containerPath: '/v',
    source: { type: 'DOCKER_VOLUME', dockerVolume: { name, ...more } },
  });
  const all = docker(
    { privileged: true, network: 'HOST', dockerParameters: [{ key: 'device', value: '/dev/fuse' }] },
    {
      volumes: [
        { containerPath: '/a', hostPath: '/data' },
        named('cache-%i'),
        named('one', { driver: 'nfs', driverOptions: { share: 'h:/x' } }),
        named('one', { driver: 'local' }),
      ],
      networkInfos: [{ name: 'web' }],
    },
  );
  expect(fields(all, settings)).toEqual([]);
  const beside = volume(
    { containerPath: '/a', hostPath: '/data-of-others' },
    { containerPath: '/a', hostPath: '/data/../etc' },
    { containerPath: '/a', hostPath: '/data/x,source=/etc' },
    { containerPath: '/a,source=/etc', hostPath: '/data/x' },
    { containerPath: 'a', hostPath: '/data/x' },
    { containerPath: '/', hostPath: '/data/x' },
    named('cache'),
    named('one', { driverOptions: { type: 'none', o: 'bind', device: '/' } }),
    named('one', { driver: 'nfs', driverOptions: { a: 'b,c' } }),
  );
  const harmless = { ...settings, allowPrivileged: false, allowedParameters: [] };
  expect(fields(beside, harmless).map((field) => field.replace('containerInfo.volumes', ''))).toEqual([
    '[0].hostPath',
    '[1].hostPath',
    '[1].hostPath',
    '[2].hostPath',
    '[3].containerPath',
    '[4].containerPath',
    '[5].containerPath',
    '[6].source.dockerVolume.name',
    '[7].source.dockerVolume.driverOptions',
    '[8].source.dockerVolume.driverOptions.a',
  ]);
});

test.each([
  'volume',
  'v',
  'mount',
  'privileged',
  'network',
  'net',
  'env',
  'env-file',
  'name',
  'cgroup-parent',
  'rootfs',
])('not even the operator can hand %s to deploys', (key) => {
  expect(() => ContainerSettings.parse({ allowedParameters: [key] })).toThrow('field or a setting of its own');
  const policy = { ...closed, allowedParameters: [key] };
  expect(containerProblems(docker({ parameters: { [key]: 'x' } }), { isManaged: false, policy })).toHaveLength(1);
});

test.each(['/run', '/var/run/docker.sock', '/', '/var', '/run/podman', '/agent/tasks', '/agent'])(
  'no setting opens %s, where a socket of an engine or the agent is',
  (path) => expect(refusedHostPath(path, { allowedHostPaths: ['/'] }, ['/agent'])).toContain('must not show'),
);

test.each([
  ['a name that is a kind of network', docker({}, { networkInfos: [{ name: 'host' }] }), 'networkInfos[0].name'],
  ['another container', docker({}, { networkInfos: [{ name: 'container:x' }] }), 'networkInfos[0].name'],
  [
    'a port beyond the last',
    docker({ portMappings: [{ containerPort: 70_000, hostPort: 1 }] }),
    'docker.portMappings[0].containerPort',
  ],
  ['port 0', docker({ portMappings: [{ containerPort: 1, hostPort: 0 }] }), 'docker.portMappings[0].hostPort'],
  [
    'another protocol',
    docker({ portMappings: [{ containerPort: 1, hostPort: 1, protocol: 'tcp,x' }] }),
    'docker.portMappings[0].protocol',
  ],
])('%s is refused', (_name, info, field) =>
  expect(fields(info, { allowedNetworks: ['host', 'container:x', 'BRIDGE'] })).toEqual([`containerInfo.${field}`]),
);

test.each<[string, object, string[]]>([
  ['containers have the rights of their task', {}, []],
  ['containers are root', { runAs: 'IMAGE_USER' }, ['/data/b', '/data/in']],
  ['containers may be privileged', { allowPrivileged: true }, ['/data/b', '/data/in']],
  ['deploys may name the user', { allowedParameters: ['init', 'u'] }, ['/data/b', '/data/in']],
])('parts of a folder are shown where nobody can replace them by links: %s', (_name, settings, refused) => {
  const allowedHostPaths = ['/data', '/data/in/', '/other/'];
  const isRefused = (hostPath: string) =>
    fields(volume({ containerPath: '/a', hostPath }), { ...settings, allowedHostPaths }).length > 0;
  expect(['/data', '/data/', '/data/b', '/data/in', '/other'].filter(isRefused)).toEqual(refused);
});

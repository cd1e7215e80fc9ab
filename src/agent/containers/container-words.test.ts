import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContainerInfo, DockerInfo } from '../../core/model/deploy.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { ContainerSettings } from '../../platform/settings/container-settings.js';
import { commandLine, type Option } from '../processes/command-line.js';
import { launchSpec } from '../../../test/support/launch-spec.js';
import {
  containerEnvironment,
  containerName,
  type ContainerPlan,
  createWords,
  workdirInSandbox,
} from './container-words.js';
import { checkLines, linesOf } from './environment-file.js';

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
    '--http-proxy=false',
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
    '--',
    'app:latest',
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
    ['--hostname=x', '--init=true', '--workdir=/w'],
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
  expect(found.slice(-5)).toEqual(['app:latest', '/bin/sh', '-c', '--', 'run "a b" $X']);
});

/** Arguments that a real program gets. */
function argumentsOf(given: readonly string[]): string[] {
  const text = execFileSync('/bin/sh', ['-c', `[ $# -gt 0 ] && printf '%s\\0' "$@"`, 'sh', ...given], {
    encoding: 'utf8',
  });
  return text.split('\0').slice(0, -1);
}
/** Texts that a command line can hold; engines get texts of every kind. */
const text = fc.oneof(
  fc.constantFrom('', '-', '--', '--privileged', '-v=/:/x', '=', 'a b', '--user=0', '\n', '$(id)'),
  fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', '')),
);
const keys = ['hostname', 'h', 'workdir', 'w', 'entrypoint', 'stop-signal', 'init', 'read-only', 'label', 'u'];

test('whatever a deploy says, an engine sees the options and the command that were meant', () =>
  fc.assert(
    fc.property(
      text,
      fc.array(text, { maxLength: 4 }),
      fc.boolean(),
      fc.array(fc.record({ key: fc.constantFrom(...keys), value: fc.option(text, { nil: undefined }) }), {
        maxLength: 4,
      }),
      fc.dictionary(fc.constantFrom(...keys), text),
      fc.boolean(),
      (value, others, shell, dockerParameters, parameters, isDocker) => {
        const engine = { kind: isDocker ? ('docker' as const) : ('podman' as const), words: [], version: '1' };
        const changes = { command: { shell, value, arguments: others } };
        const seen = argumentsOf(words({ docker: docker({ dockerParameters, parameters }) }, changes, { engine }));
        const end = seen.indexOf('--');
        // No option takes the word after it, and none is a letter, for which an empty value cannot be said.
        for (const word of seen.slice(1, end)) expect(word).toMatch(/^--[a-z][a-z-]+=/s);
        const line = shell ? ['-c', value, 'sh', ...others] : [...(value === '' ? [] : [value]), ...others];
        const own = shell && (dockerParameters.some(({ key }) => key === 'entrypoint') || 'entrypoint' in parameters);
        expect(seen.slice(end + 1)).toEqual(['app:latest', ...(own ? ['/bin/sh'] : []), ...line]);
      },
    ),
    { numRuns: 60 },
  ));

test('an option has a long name, and its value in the same word', () =>
  fc.assert(
    fc.property(text, fc.array(text, { minLength: 1, maxLength: 4 }), (value, operands) => {
      const options: Option[] = [
        ['format', value],
        ['force', true],
      ];
      expect(argumentsOf(commandLine(options, operands))).toEqual([`--format=${value}`, '--force', '--', ...operands]);
      expect(() => commandLine([['h', value]])).toThrow("'h' is not the long name of an option");
    }),
    { numRuns: 20 },
  ));

test("Docker's program is told that a container has none of the proxies of its own settings", () => {
  const engine = { kind: 'docker' as const, words: ['docker'], version: '1' };
  const found = words({ docker: docker() }, { environment: { no_proxy: 'x' } }, { engine });
  expect(found).toEqual(expect.arrayContaining(['--env=HTTP_PROXY=', '--env=https_proxy=', '--env=NO_PROXY=']));
  expect(found).not.toContain('--env=no_proxy=');
});

test('a folder to work in below the sandbox is known as such', () => {
  const at = (value: string) =>
    workdirInSandbox({ type: 'DOCKER', docker: docker({ dockerParameters: [{ key: 'w', value }] }) }, '/mnt/s');
  expect(at('/mnt/s/a/../b')).toBe('b');
  for (const elsewhere of ['/mnt/s', '/mnt/s/..', '/mnt/so', '/', 'a', '']) expect(at(elsewhere)).toBeUndefined();
});

test('names are those of the task, or a form of its own that engines take', () => {
  expect(containerName('se-', 'r-d-1-2-h-r')).toBe('se-r-d-1-2-h-r');
  const odd = ['r:1', 'r/1', 'r 1', 'é', 'x'.repeat(400)].map((id) => containerName('se-', id));
  expect(odd.every((name) => /^se-[A-Za-z0-9_.-]{1,197}$/.test(name))).toBe(true);
  expect(new Set(odd).size).toBe(odd.length);
});

test('variables are lines of a file; what no line can hold is refused', () => {
  expect(linesOf({ A: 'b "c" $d #e', B: '' })).toBe('A=b "c" $d #e\nB=\n');
  expect(() => checkLines({ A: 'b\nLD_PRELOAD=x' })).toThrow('Variable.A must be one line');
  expect(() => checkLines({ A: 'é'.repeat(35_000) })).toThrow('at most 60000 bytes');
  const { spec, sandbox } = plan({ docker: docker() }, { environment: { A: 'deploy', B: 'deploy' } });
  const settings = ContainerSettings.parse({ dockerInheritVariables: ['A', 'C'] });
  expect(containerEnvironment({ spec, sandbox, settings }, { A: 'agent' })).toMatchObject({
    A: 'agent',
    B: 'deploy',
    CLUSTER_SANDBOX: '/mnt/cluster/sandbox',
    HOST_SANDBOX_DIR: '/s',
  });
});

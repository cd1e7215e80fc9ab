import { expect, test } from 'vitest';
import type { Deploy } from '../../core/model/deploy.js';
import { unsupportedByLocalDriver, unsupportedInRun } from './supported.js';

const deploy = (changes: Partial<Deploy> = {}): Deploy => ({ requestId: 'r', id: 'd', command: 'true', ...changes });
const managed = (changes: Partial<NonNullable<Deploy['executorData']>>) =>
  deploy({ executorData: { cmd: 'true', ...changes } });
const fields = (value: Deploy) => unsupportedByLocalDriver(value, ['/files']).map((problem) => problem.field);

test.each([
  { name: 'a plain command', value: deploy(), is: [] },
  {
    name: 'everything that works',
    value: deploy({
      env: { A_1: 'x', 'spring.profiles-active': 'x' },
      uris: [{ uri: 'https://h/a.tgz' }, { uri: '/files/a' }, { uri: 'file:///files/b' }],
      user: 'nobody',
      healthcheck: { healthcheckResultFilePath: 'ok' },
    }),
    is: [],
  },
  {
    name: 'executor data that works',
    value: managed({
      embeddedArtifacts: [{ filename: 'a/b', content: [], targetFolderRelativeToTask: '/abs' }],
      externalArtifacts: [{ filename: 'a', url: 'http://h/a', isArtifactList: true }],
      maxTaskThreads: 3,
      runningSentinel: 'x',
      objstoreArtifacts: [],
      loggingExtraFields: {},
    }),
    is: [],
  },
  {
    name: 'programs around the main one, one with a variable that no shell can set',
    value: deploy({
      tasks: { init: [{ name: 'a', command: 'true', env: { 'A B': '' } }], post: [{ name: 'b', command: 'b' }] },
    }),
    is: ['tasks.init.0.env.A B'],
  },
  {
    name: 'programs around a container',
    value: deploy({
      tasks: { init: [{ name: 'a', command: 'true' }] },
      containerInfo: { type: 'DOCKER', docker: { image: 'a', privileged: false } },
    }),
    is: ['tasks'],
  },
  { name: 'a container that is none', value: deploy({ containerInfo: { type: 'MESOS', volumes: [] } }), is: [] },
  {
    name: 'a network of its own',
    value: deploy({ containerInfo: { type: 'MESOS', networkInfos: [{}] } }),
    is: ['containerInfo.cluster.image'],
  },
  {
    name: 'a container without an image',
    value: deploy({ containerInfo: { type: 'DOCKER' } }),
    is: ['containerInfo.docker.image'],
  },
  {
    name: 'a container that asks for the machine, with variables that no container can be given',
    value: deploy({
      env: { A: 'a\nb', B: 'c' },
      containerInfo: { type: 'DOCKER', docker: { image: 'a', privileged: true, network: 'HOST' } },
    }),
    is: ['containerInfo.docker.network', 'containerInfo.docker.privileged', 'env.A'],
  },
  {
    name: 'ports and networks where a container has none of its own',
    value: deploy({
      containerInfo: {
        type: 'DOCKER',
        docker: {
          image: 'a',
          privileged: false,
          network: 'NONE',
          portMappings: [{ containerPort: 80, hostPort: 31_000 }],
        },
        networkInfos: [{}, { portMappings: [{ containerPort: 80, hostPort: 31_000 }] }],
      },
    }),
    is: ['containerInfo.docker.portMappings', 'containerInfo.networkInfos[1].portMappings'],
  },
  {
    name: 'two images',
    value: deploy({
      containerInfo: {
        type: 'DOCKER',
        docker: { image: 'a', privileged: false },
        cluster: { image: { type: 'DOCKER', docker: { name: 'b' } } },
      },
    }),
    is: ['containerInfo.cluster.image'],
  },
  { name: 'a foreign executor', value: deploy({ customExecutorCmd: '/x' }), is: ['customExecutorCmd'] },
  {
    name: 'names that no variable has',
    value: deploy({ env: { '-a': '', 'BASH_FUNC_ls%%': '' }, taskEnv: { 2: { 'a b': '', ok: '' } } }),
    is: ['env.-a', 'env.BASH_FUNC_ls%%', 'taskEnv.2.a b'],
  },
  {
    name: 'a scheme that is not fetched',
    value: deploy({ uris: [{ uri: 'http://h/a' }, { uri: 'hdfs://h/a' }] }),
    is: ['uris[1].uri'],
  },
  {
    name: 'downloads to elsewhere',
    value: deploy({
      uris: [
        { uri: 'http://h/a', outputFile: '../../x' },
        { uri: 'http://h/a', outputFile: '/etc/x' },
        { uri: 'http://h/a', outputFile: 'b/x' },
      ],
      runImmediately: { extraArtifacts: [{ uri: 'http://h/a', outputFile: 'b/../../x' }] },
    }),
    is: ['uris[0].outputFile', 'uris[1].outputFile', 'runImmediately.extraArtifacts[0].outputFile'],
  },
  {
    name: 'a health file outside',
    value: deploy({ healthcheck: { healthcheckResultFilePath: '../x' } }),
    is: ['healthcheck.healthcheckResultFilePath'],
  },
  {
    name: 'an object store that the agent does not have',
    value: managed({ objstoreArtifacts: [{}], objstoreArtifactSignatures: [{}] }),
    is: ['executorData.objstoreArtifacts', 'executorData.objstoreArtifactSignatures'],
  },
  {
    name: 'files outside',
    value: managed({
      embeddedArtifacts: [{ filename: '../a' }],
      externalArtifacts: [{ filename: 'a', url: 's3://b/k', targetFolderRelativeToTask: 'x/../..' }],
    }),
    is: [
      'executorData.embeddedArtifacts[0].filename',
      'executorData.externalArtifacts[0].targetFolderRelativeToTask',
      'executorData.externalArtifacts[0].url',
    ],
  },
  {
    name: 'files of the machine',
    value: deploy({
      uris: [
        '/etc/shadow',
        'file:///etc/shadow',
        '/files',
        '/files-of-others/a',
        '/files/../etc/shadow',
        'file:///files/%2e%2e/etc/shadow',
        'file:///files/..%2fetc',
        'file://host/files/a',
        'FILE:///etc/shadow',
        'http://',
        'file:/etc/shadow',
      ].map((uri) => ({ uri })),
      executorData: { cmd: 'true', externalArtifacts: [{ filename: 'a', url: '/etc/shadow' }] },
    }),
    is: ['executorData.externalArtifacts[0].url', ...Array.from({ length: 11 }, (_, index) => `uris[${index}].uri`)],
  },
  {
    name: 'output files that leave the sandbox, or are none',
    value: deploy({
      uris: ['../x', '/x', 'a/../../x', '', '.', 'a/'].map((outputFile) => ({ uri: 'http://h/a', outputFile })),
    }),
    is: Array.from({ length: 6 }, (_, index) => `uris[${index}].outputFile`),
  },
  {
    name: 'a source that names no file, without a name for it',
    value: deploy({
      uris: ['http://h', 'http://h/a/', 'http://h/a/..', 'http://h/%2e%2e']
        .map((uri) => ({ uri }))
        .concat({
          uri: 'http://h/a/',
          outputFile: 'b',
        } as never),
    }),
    is: [0, 2, 3].map((index) => `uris[${index}].outputFile`),
  },
  {
    name: 'a run with the deploy',
    value: deploy({ runImmediately: { envOverrides: { '1': 'x' } } }),
    is: ['runImmediately.envOverrides.1'],
  },
])('$name', ({ value, is }) => expect(fields(value)).toEqual(is));

test('objects and signatures say where they are, and stay in the sandbox', () => {
  const whole = { filename: 'a', objstoreBucket: 'b', objstoreObjectKey: 'k', isArtifactList: true };
  const of = (artifact: object) =>
    unsupportedByLocalDriver(
      managed({ objstoreArtifacts: [artifact], objstoreArtifactSignatures: [artifact] }),
      [],
      true,
    );
  expect(of(whole)).toEqual([]);
  for (const [changes, field] of [
    [{ filename: '../a' }, 'filename'],
    [{ objstoreBucket: '' }, 'objstoreBucket'],
    [{ objstoreObjectKey: undefined }, 'objstoreObjectKey'],
    [{ targetFolderRelativeToTask: '..' }, 'targetFolderRelativeToTask'],
  ] as const)
    expect(of({ ...whole, ...changes }).map((problem) => problem.field)).toEqual([
      `executorData.objstoreArtifacts[0].${field}`,
      `executorData.objstoreArtifactSignatures[0].${field}`,
    ]);
});

test('there are at most a thousand files to fetch for a task', () => {
  const externalArtifacts = Array.from({ length: 1_001 }, () => ({ filename: 'a', url: 'http://h/a' }));
  expect(fields(managed({ externalArtifacts }))).toEqual(['executorData.externalArtifacts']);
  expect(fields(managed({ externalArtifacts: externalArtifacts.slice(1) }))).toEqual([]);
});

test('which setting allows a file of the machine is said', () =>
  expect(unsupportedByLocalDriver(deploy({ uris: [{ uri: '/etc/shadow' }] }))).toEqual([
    {
      field: 'uris[0].uri',
      message: 'must lie below a folder that the setting cluster.local.allowedArtifactPaths names',
    },
  ]));

test('a run is checked like a deploy', () =>
  expect(
    unsupportedInRun({ envOverrides: { 'x y': '' }, extraArtifacts: [{ uri: 'ftp://h' }] }).map((each) => each.field),
  ).toEqual(['envOverrides.x y', 'extraArtifacts[0].uri']));

test('variables that no container can be given are refused in runs, too, and only there', () => {
  const envOverrides = { A: 'a\nb', B: 'x'.repeat(60_001), C: 'x'.repeat(60_000) };
  expect(unsupportedInRun({ envOverrides })).toEqual([]);
  expect(unsupportedInRun({ envOverrides }, [], true).map(({ field }) => field)).toEqual([
    'envOverrides.A',
    'envOverrides.B',
  ]);
});

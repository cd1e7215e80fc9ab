import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { validationSettings as settings } from '../../../test/support/fixtures/deploy-validation.js';
import type { Deploy } from '../model/deploy.js';
import {
  normalizeDeploy,
  validateDeploy,
  type DeployValidationContext,
  type DeployValidationSettings,
} from './index.js';

const context = (changes: Partial<DeployValidationContext> = {}): DeployValidationContext => ({
  request: { id: 'web', requestType: 'SERVICE', instances: 20 },
  settings,
  now: 1_000_000,
  ...changes,
});
const resources = { cpus: 1, memoryMb: 64, numPorts: 2 };
const deploy = (changes: Partial<Deploy> = {}): Deploy => ({
  requestId: 'web',
  id: 'd1',
  command: 'serve',
  resources,
  ...changes,
});
const docker = (changes: object = {}) => ({
  type: 'DOCKER' as const,
  docker: { image: 'r.example/app:1', privileged: false, ...changes },
});
const balanced = { request: { id: 'web', requestType: 'SERVICE' as const, loadBalanced: true } };
const mapping = (changes: object) => docker({ portMappings: [{ containerPort: 0, hostPort: 0, ...changes }] });
const artifact = { objstoreArtifacts: [{ filename: 'a.tgz' }], cmd: 'x' };
const settingsWith = (changes: Partial<DeployValidationSettings>) => ({ settings: { ...settings, ...changes } });
const honored = settingsWith({
  cluster: { ...settings.cluster, local: { ...settings.cluster.local, honorRunningSentinel: true } },
});
const sentinel = (runningSentinel: string) => ({
  command: undefined,
  customExecutorCmd: '/bin/ex',
  executorData: { cmd: 'x', runningSentinel },
});
const scheduled = { request: { id: 'web', requestType: 'SCHEDULED' as const } };

interface Case {
  name: string;
  deploy?: Partial<Deploy>;
  context?: Partial<DeployValidationContext>;
  /** Field and rule of each error; none: it is accepted. */
  errors?: string[];
}

const broken = ({ deploy: changes, context: around }: Case) =>
  validateDeploy(normalizeDeploy(deploy(changes)), context(around)).map(({ field, rule }) => `${field} ${rule}`);

describe('id and request', () => {
  test.each<Case>([
    { name: 'a plain one' },
    { name: 'an id with dot and underscore', deploy: { id: 'v1.2_3' } },
    { name: 'no id', deploy: { id: '' }, errors: ['deploy.id required'] },
    { name: 'a dash, which divides task ids', deploy: { id: 'a-b' }, errors: ['deploy.id pattern'] },
    { name: 'a dot, which is no part of a path', deploy: { id: '.' }, errors: ['deploy.id pattern'] },
    { name: 'two dots', deploy: { id: '..' }, errors: ['deploy.id pattern'] },
    { name: 'three dots', deploy: { id: '...' } },
    { name: 'a slash', deploy: { id: 'a/b' }, errors: ['deploy.id pattern'] },
    { name: '50 characters', deploy: { id: 'd'.repeat(50) } },
    { name: '51 characters', deploy: { id: 'd'.repeat(51) }, errors: ['deploy.id length'] },
    { name: 'another request', deploy: { requestId: 'api' }, errors: ['deploy.requestId match'] },
    {
      name: 'a service below the frozen priority',
      context: { minimumPriorityLevel: 0.8 },
      errors: ['deploy.requestId priority'],
    },
    { name: 'a service above it', context: { minimumPriorityLevel: 0.7 } },
    { name: 'a job, whose priority does not matter here', context: { minimumPriorityLevel: 1, ...scheduled } },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

describe('what to launch', () => {
  test.each<Case>([
    { name: 'nothing', deploy: { command: undefined }, errors: ['deploy.command launchForm'] },
    { name: 'only arguments', deploy: { command: undefined, arguments: ['a'] }, errors: ['deploy.command launchForm'] },
    { name: 'an executor', deploy: { command: undefined, customExecutorCmd: '/bin/ex', executorData: { cmd: 'x' } } },
    {
      name: 'an executor without its command',
      deploy: { command: undefined, executorData: { cmd: 'x' } },
      errors: ['deploy.customExecutorCmd launchForm'],
    },
    {
      name: 'an executor and a command',
      deploy: { customExecutorCmd: '/bin/ex', executorData: { cmd: 'x' } },
      errors: ['deploy.command launchForm'],
    },
    {
      name: 'an executor command alone',
      deploy: { command: undefined, customExecutorCmd: '/bin/ex' },
      errors: ['deploy.command launchForm'],
    },
    { name: 'a container', deploy: { command: undefined, containerInfo: docker() } },
    { name: 'a command beside a container that is none', deploy: { containerInfo: { type: 'MESOS' as const } } },
    {
      name: 'the reserved name everywhere',
      deploy: {
        command: 'a STARTED_BY_USER',
        arguments: ['STARTED_BY_USER'],
        env: { STARTED_BY_USER: 'x' },
        taskEnv: { 1: { A: 'b STARTED_BY_USER' } },
      },
      errors: [
        'deploy.command reserved',
        'deploy.arguments reserved',
        'deploy.env reserved',
        'deploy.taskEnv reserved',
      ],
    },
    {
      name: 'unsigned artifacts where only signed ones are allowed',
      deploy: {
        command: undefined,
        customExecutorCmd: 'e',
        uris: [{ uri: 'http://a' }],
        executorData: { ...artifact, externalArtifacts: [{}], embeddedArtifacts: [{}] },
      },
      context: settingsWith({ enforceSignedArtifacts: true }),
      errors: [
        'deploy.uris signed',
        'deploy.executorData.embeddedArtifacts signed',
        'deploy.executorData.externalArtifacts signed',
        'deploy.executorData.objstoreArtifacts.0 signed',
      ],
    },
    {
      name: 'a signed artifact',
      deploy: {
        command: undefined,
        customExecutorCmd: 'e',
        executorData: { ...artifact, objstoreArtifactSignatures: [{ artifactFilename: 'a.tgz' }] },
      },
      context: settingsWith({ enforceSignedArtifacts: true }),
    },
    {
      name: 'files for buckets that the settings do not name, also of its first run',
      deploy: {
        objstoreUploaderAdditionalFiles: [
          { filename: 'a' },
          { objstoreUploaderBucket: 'logs' },
          { objstoreUploaderBucket: 'other' },
        ],
        runImmediately: { objstoreUploaderAdditionalFiles: [{ objstoreUploaderBucket: 'other' }] },
      },
      context: { ...scheduled, uploadBuckets: ['logs'] },
      errors: [
        'deploy.objstoreUploaderAdditionalFiles.2.objstoreUploaderBucket allowed',
        'deploy.runImmediately.objstoreUploaderAdditionalFiles.0.objstoreUploaderBucket allowed',
      ],
    },
    {
      name: 'files for any bucket where none is used',
      deploy: { objstoreUploaderAdditionalFiles: [{ objstoreUploaderBucket: 'other' }] },
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

const ofCluster = (name: string) => ({
  type: 'MESOS' as const,
  cluster: { image: { type: 'DOCKER' as const, docker: { name } } },
});

describe('containers', () => {
  test.each<Case>([
    {
      name: 'DOCKER without docker',
      deploy: { containerInfo: { type: 'DOCKER' } },
      errors: ['deploy.containerInfo.docker required'],
    },
    {
      name: 'an empty image',
      deploy: { containerInfo: docker({ image: '' }) },
      errors: ['deploy.containerInfo.docker.image required'],
    },
    {
      name: 'a volume without path',
      deploy: { containerInfo: { ...docker(), volumes: [{ hostPath: '/a' }] } },
      errors: ['deploy.containerInfo.volumes.0.containerPath required'],
    },
    {
      name: 'ports from the offer',
      deploy: {
        containerInfo: mapping({
          containerPortType: 'FROM_OFFER',
          containerPort: 1,
          hostPortType: 'FROM_OFFER',
          hostPort: 0,
        }),
      },
    },
    {
      name: 'ports beyond the offer',
      deploy: {
        containerInfo: mapping({
          containerPortType: 'FROM_OFFER',
          containerPort: 2,
          hostPortType: 'FROM_OFFER',
          hostPort: 7,
        }),
      },
      errors: [
        'deploy.containerInfo.docker.portMappings.0.containerPort range',
        'deploy.containerInfo.docker.portMappings.0.hostPort range',
      ],
    },
    {
      name: 'literal ports may be anything',
      deploy: { containerInfo: mapping({ containerPort: 8080, hostPort: 80 }) },
    },
    {
      name: 'an allowed registry',
      deploy: { containerInfo: docker() },
      context: settingsWith({ validDockerRegistries: ['r.example'] }),
    },
    {
      name: 'another registry',
      deploy: { containerInfo: docker({ image: 'busybox' }) },
      context: settingsWith({ validDockerRegistries: ['r.example'] }),
      errors: ['deploy.containerInfo.docker.image registry'],
    },
    ...['busybox', 'localhost/app:1', 'r.example.evil/app', 'R.example/app', 'r.example'].map((name) => ({
      name: `another registry, by the other member: ${name}`,
      deploy: { containerInfo: ofCluster(name) },
      context: settingsWith({ validDockerRegistries: ['r.example'] }),
      errors: ['deploy.containerInfo.cluster.image.docker.name registry'],
    })),
    {
      name: 'an allowed registry, by the other member',
      deploy: { containerInfo: ofCluster('r.example/app:1') },
      context: settingsWith({ validDockerRegistries: ['r.example'] }),
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

describe('health check', () => {
  test.each<Case>([
    { name: 'by port index', deploy: { healthcheck: { uri: '/', portIndex: 1 } } },
    { name: 'by port number', deploy: { healthcheck: { uri: '/', portNumber: 80 } } },
    {
      name: 'by a number that the task may or may not be given',
      deploy: { healthcheck: { uri: '/', portNumber: 31_000 } },
      errors: ['deploy.healthcheck.portNumber ownPort'],
    },
    {
      name: 'by a port of the machine that its container asks for',
      deploy: {
        containerInfo: mapping({ containerPort: 8080, hostPort: 8080 }),
        healthcheck: { uri: '/', portNumber: 8080 },
      },
    },
    {
      name: 'index and number',
      deploy: { healthcheck: { uri: '/', portIndex: 0, portNumber: 80 } },
      errors: ['deploy.healthcheck.portNumber exclusive'],
    },
    {
      name: 'an index the task has no port for',
      deploy: { healthcheck: { uri: '/', portIndex: 2 } },
      errors: ['deploy.healthcheck.portIndex range'],
    },
    { name: 'nothing to ask', deploy: { healthcheck: {} }, errors: ['deploy.healthcheck.uri required'] },
    { name: 'a result file instead', deploy: { healthcheck: { healthcheckResultFilePath: 'ok' } } },
    {
      name: 'no port at all',
      deploy: { resources: { cpus: 1, memoryMb: 1 }, healthcheck: { uri: '/' } },
      errors: ['deploy.resources.numPorts required'],
    },
    {
      name: 'no resources, but a number that the settings allow',
      deploy: { resources: undefined, healthcheck: { uri: '/', portNumber: 80 } },
    },
    {
      name: 'no resources, and a number of some other program',
      deploy: { resources: undefined, healthcheck: { uri: '/', portNumber: 7398 } },
      errors: ['deploy.healthcheck.portNumber ownPort'],
    },
    ...['http://169.254.169.254/latest', '//evil.example/', '/a\r\nHost: b', '\\\\evil.example'].map((uri) => ({
      name: `at ${JSON.stringify(uri)}`,
      deploy: { healthcheck: { uri, portIndex: 1 } },
      errors: ['deploy.healthcheck.uri path'],
    })),
    {
      name: 'described in older fields',
      deploy: { resources: undefined, healthcheckUri: '/' },
      errors: ['deploy.resources.numPorts required'],
    },
    {
      name: 'longer than allowed in all',
      deploy: { healthcheck: { uri: '/', maxRetries: 1 } },
      context: settingsWith({ healthcheckMaxTotalTimeoutSeconds: 65 }),
      errors: ['deploy.healthcheck totalTime'],
    },
    {
      name: 'just short enough',
      deploy: { healthcheck: { uri: '/', maxRetries: 1 } },
      context: settingsWith({ healthcheckMaxTotalTimeoutSeconds: 66 }),
    },
    {
      name: 'a delay after which the task is killed anyway',
      deploy: { healthcheck: { uri: '/', startupDelaySeconds: 600 } },
      errors: ['deploy.healthcheck.startupDelaySeconds range'],
    },
    { name: 'a running sentinel of whatever name, which has no effect', deploy: sentinel('/run/up') },
    { name: 'a running sentinel in the folder of the task', deploy: sentinel('run/up'), context: honored },
    {
      name: 'a running sentinel elsewhere',
      deploy: sentinel('../up'),
      context: honored,
      errors: ['deploy.executorData.runningSentinel path'],
    },
    {
      name: 'a running sentinel of the machine',
      deploy: sentinel('/run/up'),
      context: honored,
      errors: ['deploy.executorData.runningSentinel path'],
    },
    {
      name: 'a load balancer port the task does not have',
      deploy: { loadBalancerPortIndex: 2 },
      errors: ['deploy.loadBalancerPortIndex range'],
    },
    {
      name: 'a load balanced request without path and groups',
      deploy: { loadBalancerGroups: [] },
      context: { ...balanced, settings: { ...settings, loadBalancerUri: 'http://balancer' } },
      errors: ['deploy.serviceBasePath required', 'deploy.loadBalancerGroups required'],
    },
    {
      name: 'a load balanced request with both',
      deploy: { serviceBasePath: '/', loadBalancerGroups: ['public'] },
      context: { ...balanced, settings: { ...settings, loadBalancerUri: 'http://balancer' } },
    },
    {
      name: 'a load balanced request where there is no load balancer',
      context: balanced,
      errors: ['deploy.requestId loadBalancer'],
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

describe('resources', () => {
  test.each<Case>([
    { name: 'none: the defaults', deploy: { resources: undefined } },
    { name: 'no cpu', deploy: { resources: { ...resources, cpus: 0 } }, errors: ['deploy.resources.cpus min'] },
    { name: 'cpu not given', deploy: { resources: { memoryMb: 64 } }, errors: ['deploy.resources.cpus min'] },
    {
      name: 'no memory',
      deploy: { resources: { ...resources, memoryMb: 0 } },
      errors: ['deploy.resources.memoryMb min'],
    },
    {
      name: 'too many cpus for one',
      deploy: { resources: { ...resources, cpus: 51 } },
      errors: ['deploy.resources.cpus max'],
    },
    {
      name: 'too many cpus for all 20',
      deploy: { resources: { ...resources, cpus: 46 } },
      errors: ['deploy.resources.cpus max'],
    },
    { name: 'as many cpus as allowed', deploy: { resources: { ...resources, cpus: 45 } } },
    {
      name: 'too much memory and disk',
      deploy: { resources: { ...resources, memoryMb: 24_001, diskMb: 60_001 } },
      errors: ['deploy.resources.memoryMb max', 'deploy.resources.diskMb max'],
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

describe('labels and runs', () => {
  test.each<Case>([
    {
      name: 'the same labels twice, in another order',
      deploy: {
        labels: { a: '1', b: '2' },
        clusterLabels: [
          { key: 'b', value: '2' },
          { key: 'a', value: '1' },
        ],
      },
    },
    {
      name: 'different labels',
      deploy: { labels: { a: '1' }, clusterLabels: [{ key: 'a', value: '2' }] },
      errors: ['deploy.clusterLabels match'],
    },
    {
      name: 'different labels of an instance',
      deploy: { taskLabels: { 1: { a: '1' } }, clusterTaskLabels: { 2: [{ key: 'a', value: '1' }] } },
      errors: ['deploy.clusterTaskLabels match'],
    },
    { name: 'a run of a service', deploy: { runImmediately: {} }, errors: ['deploy.runImmediately requestType'] },
    { name: 'a run of a job', deploy: { runImmediately: {} }, context: scheduled },
    {
      name: 'a run that asks for too much',
      deploy: {
        runImmediately: {
          runId: 'r'.repeat(101),
          runAt: 99_999_999_999,
          resources: { cpus: 51, memoryMb: 1, numPorts: 1 },
          envOverrides: { STARTED_BY_USER: '' },
        },
      },
      context: scheduled,
      errors: [
        'deploy.runImmediately.runId length',
        'deploy.runImmediately.runAt max',
        'deploy.runImmediately.envOverrides.STARTED_BY_USER reserved',
        'deploy.runImmediately.resources.cpus max',
        'deploy.runImmediately.resources.numPorts min',
      ],
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

describe('the stored form', () => {
  const normal = (changes: Partial<Deploy>) => normalizeDeploy({ requestId: 'web', id: 'd1', ...changes });
  test('always names the files to upload, and nothing else that was not sent', () => {
    expect(normal({ command: 'x' })).toEqual({
      requestId: 'web',
      id: 'd1',
      command: 'x',
      objstoreUploaderAdditionalFiles: [],
    });
  });
  test.each<{ name: string; sent: Partial<Deploy>; stored: object }>([
    {
      name: 'resources',
      sent: { resources: { cpus: 1, memoryMb: 2 } },
      stored: { resources: { cpus: 1, memoryMb: 2, numPorts: 0, diskMb: 0 } },
    },
    {
      name: 'artifacts',
      sent: { uris: [{ uri: 'http://a/b' }] },
      stored: { uris: [{ uri: 'http://a/b', cache: false, executable: false, extract: true }] },
    },
    {
      name: 'labels as a list',
      sent: { labels: { l: 'm' } },
      stored: { labels: { l: 'm' }, clusterLabels: [{ key: 'l', value: 'm' }] },
    },
    {
      name: 'labels of instances as lists',
      sent: { taskLabels: { 1: { l: 'm' } } },
      stored: { clusterTaskLabels: { 1: [{ key: 'l', value: 'm' }] } },
    },
    {
      name: 'a health check from older fields',
      sent: { healthcheckUri: '/h', healthcheckTimeoutSeconds: 3, healthcheckMaxRetries: 2, healthcheckPortIndex: 1 },
      stored: { healthcheck: { uri: '/h', responseTimeoutSeconds: 3, maxRetries: 2, portIndex: 1 } },
    },
    {
      name: 'its protocol and interval from older fields; the total time stands beside it',
      sent: {
        healthcheckUri: '/h',
        healthcheckProtocol: 'HTTPS',
        healthcheckIntervalSeconds: 9,
        healthcheckMaxTotalTimeoutSeconds: 60,
      },
      stored: { healthcheck: { uri: '/h', protocol: 'HTTPS', intervalSeconds: 9 } },
    },
    {
      name: 'a health check as it is when older fields say something else',
      sent: { healthcheck: { uri: '/new' }, healthcheckUri: '/old', healthcheckMaxRetries: 2 },
      stored: { healthcheck: { uri: '/new' } },
    },
    {
      name: 'docker',
      sent: {
        containerInfo: {
          type: 'DOCKER',
          docker: {
            image: 'a',
            portMappings: [{ containerPort: 80, hostPort: 0, hostPortType: 'FROM_OFFER' }],
          } as never,
        },
      },
      stored: {
        containerInfo: {
          type: 'DOCKER',
          docker: {
            image: 'a',
            privileged: false,
            forcePullImage: false,
            dockerParameters: [],
            portMappings: [
              {
                containerPortType: 'LITERAL',
                containerPort: 80,
                hostPortType: 'FROM_OFFER',
                hostPort: 0,
                protocol: 'tcp',
              },
            ],
          },
        },
      },
    },
    {
      name: 'canary settings',
      sent: { canaryDeploySettings: { instanceGroupSize: 2 } as Deploy['canaryDeploySettings'] },
      stored: {
        canaryDeploySettings: {
          enableCanaryDeploy: false,
          instanceGroupSize: 2,
          acceptanceMode: 'NONE',
          waitMillisBetweenGroups: 0,
          allowedTasksFailuresPerGroup: 0,
          canaryCycleCount: 3,
        },
      },
    },
    {
      name: 'executor data',
      sent: { executorData: { cmd: 'x' } },
      stored: {
        executorData: {
          cmd: 'x',
          embeddedArtifacts: [],
          externalArtifacts: [],
          objstoreArtifacts: [],
          objstoreArtifactSignatures: [],
          successfulExitCodes: [],
          extraCmdLineArgs: [],
          loggingExtraFields: {},
        },
      },
    },
  ])('fills in $name', ({ sent, stored }) => expect(normal(sent)).toMatchObject(stored));

  test('older fields without a path make no health check', () =>
    expect(normal({ healthcheckIntervalSeconds: 9 })).not.toHaveProperty('healthcheck'));

  test('a deploy that was read can be posted again', () => {
    const anyDeploy = fc.record<Partial<Deploy>>(
      {
        resources: fc.record({ cpus: fc.integer({ min: 1, max: 9 }), memoryMb: fc.integer({ min: 1, max: 99 }) }),
        labels: fc.dictionary(fc.string(), fc.string()),
        taskLabels: fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.string())),
        uris: fc.array(fc.record({ uri: fc.webUrl() })),
        healthcheckUri: fc.constantFrom('/a', '/b'),
        healthcheckMaxRetries: fc.nat(5),
        env: fc.dictionary(fc.string(), fc.string()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anyDeploy, (changes) => {
        const stored = normalizeDeploy(deploy(changes));
        expect(normalizeDeploy(stored)).toEqual(stored);
        expect(validateDeploy(stored, context())).toEqual(validateDeploy(normalizeDeploy(stored), context()));
        expect(broken({ name: '', deploy: stored }).filter((error) => error.includes('abels'))).toEqual([]);
      }),
    );
  });
});

describe('objects of a cluster', () => {
  const volume = (changes: object) => ({ ...docker(), volumes: [{ containerPath: '/x', ...changes }] });
  const source = 'deploy.containerInfo.volumes.0.source.name';
  const secret = { name: 'A', secret: 'keys', key: 'db' };
  test.each<Case>([
    {
      name: 'a claim',
      deploy: { containerInfo: volume({ source: { type: 'PERSISTENT_VOLUME_CLAIM', name: 'd-%i' } }) },
    },
    {
      name: 'a claim to write to',
      deploy: { containerInfo: volume({ mode: 'RW', source: { type: 'PERSISTENT_VOLUME_CLAIM', name: 'd' } }) },
    },
    {
      name: 'a path that is none',
      deploy: { containerInfo: volume({ containerPath: 'x', source: { type: 'SECRET', name: 'd' } }) },
      errors: ['deploy.containerInfo.volumes.0.containerPath pattern'],
    },
    {
      name: 'a secret to write to',
      deploy: { containerInfo: volume({ mode: 'RW', source: { type: 'SECRET', name: 'd' } }) },
      errors: ['deploy.containerInfo.volumes.0.mode kind'],
    },
    {
      name: 'a secret of each instance',
      deploy: { containerInfo: volume({ source: { type: 'SECRET', name: 'd-%i' } }) },
      errors: [`${source} pattern`],
    },
    {
      name: 'no name',
      deploy: { containerInfo: volume({ source: { type: 'CONFIG_MAP' } }) },
      errors: [`${source} required`],
    },
    {
      name: 'a name that is a path',
      deploy: { containerInfo: volume({ source: { type: 'CONFIG_MAP', name: '../x' } }) },
      errors: [`${source} pattern`],
    },
    {
      name: 'a name of nothing',
      deploy: { containerInfo: volume({ hostPath: '/x', source: { name: 'x' } }) },
      errors: [`${source} kind`],
    },
    {
      name: 'a folder of the machine, too',
      deploy: { containerInfo: volume({ hostPath: '/x', source: { type: 'SECRET', name: 'x' } }) },
      errors: ['deploy.containerInfo.volumes.0.hostPath kind'],
    },
    {
      name: 'a volume of Docker, too',
      deploy: { containerInfo: volume({ source: { type: 'SECRET', name: 'x', dockerVolume: { name: 'x' } } }) },
      errors: ['deploy.containerInfo.volumes.0.source.dockerVolume kind'],
    },
    { name: 'an account', deploy: { serviceAccount: 'reporter' } },
    {
      name: 'no account',
      deploy: { serviceAccount: 'a/b' },
      errors: ['deploy.serviceAccount pattern'],
    },
    { name: 'a variable of a secret', deploy: { secretEnv: [secret] } },
    {
      name: 'no variable',
      deploy: { secretEnv: [{ ...secret, name: 'A=B' }] },
      errors: ['deploy.secretEnv.0.name pattern'],
    },
    {
      name: 'the variable of the scheduler',
      deploy: { secretEnv: [{ ...secret, name: 'STARTED_BY_USER' }] },
      errors: ['deploy.secretEnv.0.name reserved'],
    },
    {
      name: 'one of env',
      deploy: { env: { A: 'b' }, secretEnv: [secret] },
      errors: ['deploy.secretEnv.0.name conflict'],
    },
    {
      name: 'one of taskEnv',
      deploy: { taskEnv: { 1: { A: 'b' } }, secretEnv: [secret] },
      errors: ['deploy.secretEnv.0.name conflict'],
    },
    { name: 'twice', deploy: { secretEnv: [secret, secret] }, errors: ['deploy.secretEnv.1.name conflict'] },
    {
      name: 'no secret and no key',
      deploy: { secretEnv: [{ name: 'A', secret: 'B', key: 'a/b' }] },
      errors: ['deploy.secretEnv.0.secret pattern', 'deploy.secretEnv.0.key pattern'],
    },
  ])('$name', (given) => expect(broken(given)).toEqual(given.errors ?? []));
});

test('extended resources of an executor are refused', () =>
  expect(broken({ name: '', deploy: { customExecutorResources: { cpus: 1, extended: { 'a.b/c': 1 } } } })).toEqual([
    'deploy.customExecutorResources.extended supported',
  ]));

import { describe, expect, test } from 'vitest';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { RequestParent } from '../../../src/core/model/request.js';
import type { Task } from '../../../src/core/model/task.js';
import { sleeping, type Scene } from '../scene.js';

const start = 'POST /api/deploys';

/** Every member of a deploy that plain processes can have, but for those that exclude these. */
const full = (requestId: string, uri: string): Deploy => ({
  requestId,
  id: 'full.1',
  command: 'sleep',
  arguments: ['1000'],
  shell: false,
  resources: { cpus: 0.1, memoryMb: 16, numPorts: 2, diskMb: 1 },
  env: { COLOUR: 'red' },
  taskEnv: { 1: { SHADE: 'dark' } },
  uris: [{ uri, outputFile: 'ready', cache: false, executable: false, extract: false }],
  metadata: { ticket: '7' },
  version: '1.0',
  timestamp: 1_700_000_000_000,
  labels: { tier: 'front' },
  clusterLabels: [{ key: 'tier', value: 'front' }],
  taskLabels: { 1: { place: 'first' } },
  clusterTaskLabels: { 1: [{ key: 'place', value: 'first' }] },
  deployHealthTimeoutSeconds: 60,
  healthcheck: {
    uri: '/healthy',
    portIndex: 1,
    protocol: 'HTTP',
    method: 'GET',
    startupTimeoutSeconds: 30,
    startupDelaySeconds: 1,
    startupIntervalSeconds: 2,
    intervalSeconds: 3,
    responseTimeoutSeconds: 4,
    maxRetries: 5,
    failureStatusCodes: [500],
  },
  skipHealthchecksOnDeploy: true,
  considerHealthyAfterRunningForSeconds: 1,
  serviceBasePath: '/full',
  loadBalancerGroups: ['web'],
  loadBalancerPortIndex: 1,
  loadBalancerOptions: { cache: { seconds: 5 } },
  loadBalancerDomains: ['example.com'],
  loadBalancerAdditionalRoutes: ['/other'],
  loadBalancerTemplate: 'plain',
  loadBalancerServiceIdOverride: 'full-service',
  loadBalancerUpstreamGroup: 'blue',
  deployInstanceCountPerStep: 1,
  deployStepWaitTimeMs: 10,
  autoAdvanceDeploySteps: true,
  maxTaskRetries: 2,
  customExecutorId: 'mine',
  customExecutorSource: 'here',
  customExecutorResources: { cpus: 0.1, memoryMb: 16, numPorts: 0, diskMb: 0 },
  objstoreUploaderAdditionalFiles: [],
});

export function starting(scene: Scene): void {
  const { operations } = scene;

  test('a deploy is kept and shown with every member as it was sent, and its tasks are as it says', async () => {
    await scene.request({ id: 'full' });
    const deploy = full('full', `${operations.api.url}/healthz`);
    const body = { deploy, message: 'first' };
    const answer = await operations.call<RequestParent>(start, 200, { body });
    expect(answer.pendingDeploy).toMatchObject(deploy);
    expect(answer.pendingDeployState).toMatchObject({
      currentDeployState: 'WAITING',
      deployMarker: { requestId: 'full', deployId: 'full.1', message: 'first' },
      deployProgress: { targetActiveInstances: 1, deployInstanceCountPerStep: 1, deployStepWaitTimeMs: 10 },
    });
    const { deployResult, deployMarker } = await operations.api.deployEnded('full', 'full.1');
    expect([deployResult?.deployState, deployMarker.message]).toEqual(['SUCCEEDED', 'first']);
    expect((await scene.one('full')).activeDeploy).toEqual(answer.pendingDeploy);
    const [task] = (await operations.api.activeTasks('full')) as [Task];
    expect(task.taskRequest.deploy).toEqual(answer.pendingDeploy);
  });

  test('a deploy may bring a new version of the request, which counts when it has succeeded', async () => {
    await scene.request({ id: 'renewed' });
    const updatedRequest = { id: 'renewed', requestType: 'SERVICE', instances: 2, owners: ['me@example.com'] };
    const deploy = sleeping('renewed');
    const { request } = await operations.call<RequestParent>(start, 200, { body: { deploy, updatedRequest } });
    expect(request).toEqual(updatedRequest);
    const { request: stored, pendingDeployState } = await scene.one('renewed');
    if (pendingDeployState) {
      expect([stored.instances, pendingDeployState.updatedRequest]).toEqual([undefined, updatedRequest]);
      // A change of the request in the meantime would be lost.
      expect((await scene.refuses('POST /api/requests', 409, { body: updatedRequest })).code).toBe(
        'DEPLOY_IN_PROGRESS',
      );
    }
    await operations.api.deployEnded('renewed', 'v1');
    expect((await scene.one('renewed')).request).toEqual(updatedRequest);
    expect(await operations.api.running('renewed', 2)).toHaveLength(2);
  });

  test('a job may be run as soon as it is deployed', async () => {
    await scene.request({ id: 'at-once', requestType: 'ON_DEMAND' });
    const runImmediately = { runId: 'first-run', message: 'see whether it works', commandLineArgs: ['1000'] };
    const deploy = sleeping('at-once', { command: 'sleep', runImmediately });
    const { activeDeploy } = await operations.call<RequestParent>(start, 200, { body: { deploy } });
    expect(activeDeploy?.runImmediately).toMatchObject(runImmediately);
    const [task] = await operations.api.running('at-once', 1);
    expect(task!.taskRequest.pendingTask).toMatchObject({ runId: 'first-run', cmdLineArgsList: ['1000'] });
  });

  test('a deploy may be rolled out by canary settings', async () => {
    await scene.request({ id: 'canary', instances: 2 });
    const canaryDeploySettings = {
      enableCanaryDeploy: true,
      instanceGroupSize: 1,
      acceptanceMode: 'TIMED',
      waitMillisBetweenGroups: 5,
      allowedTasksFailuresPerGroup: 1,
      canaryCycleCount: 2,
    } as const;
    const deploy = sleeping('canary', { canaryDeploySettings });
    const { pendingDeploy, pendingDeployState } = await operations.call<RequestParent>(start, 200, {
      body: { deploy },
    });
    expect(pendingDeploy?.canaryDeploySettings).toEqual(canaryDeploySettings);
    expect(pendingDeployState?.deployProgress).toMatchObject({ canary: true, targetActiveInstances: 1 });
    expect((await operations.api.deployEnded('canary', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
  });

  test('executor data is kept as it was sent', async () => {
    await scene.request({ id: 'by-executor' });
    const executorData = {
      cmd: 'sleep 1000',
      embeddedArtifacts: [{ name: 'a', filename: 'a.txt', content: ['aGk='] }],
      externalArtifacts: [],
      objstoreArtifacts: [],
      successfulExitCodes: [0, 3],
      extraCmdLineArgs: ['100'],
      sigKillProcessesAfterMillis: 5_000,
      maxTaskThreads: 2_048,
      preserveTaskSandboxAfterFinish: false,
      maxOpenFiles: 1_024,
      skipLogrotateAndCompress: true,
    };
    const { command: _none, ...deploy } = sleeping('by-executor');
    const body = { deploy: { ...deploy, customExecutorCmd: 'the-agents-own', executorData } };
    const { pendingDeploy } = await operations.call<RequestParent>(start, 200, { body });
    expect(pendingDeploy).toMatchObject({ customExecutorCmd: 'the-agents-own', executorData });
    const { deployResult } = await operations.api.deployEnded('by-executor', 'v1');
    expect(deployResult?.deployState).toBe('SUCCEEDED');
  });

  describe('a deploy is refused', () => {
    const executed = { command: undefined, customExecutorCmd: 'the-agents-own' };
    const port = { cpus: 0.1, memoryMb: 16, numPorts: 1 };
    test.each<[object, string]>([
      [{ id: undefined }, 'deploy.id'],
      [{ id: 'a-b' }, 'deploy.id'],
      [{ id: 'x'.repeat(51) }, 'deploy.id'],
      [{ requestId: undefined }, 'deploy.requestId'],
      [{ command: undefined }, 'deploy.command'],
      [{ executorData: { cmd: 'x' } }, 'deploy.command'],
      [{ command: 'echo $STARTED_BY_USER' }, 'deploy.command'],
      [{ env: { STARTED_BY_USER: 'me' } }, 'deploy.env'],
      [{ arguments: ['STARTED_BY_USER'] }, 'deploy.arguments'],
      [{ resources: { cpus: 0, memoryMb: 16 } }, 'deploy.resources.cpus'],
      [{ resources: { cpus: 51, memoryMb: 16 } }, 'deploy.resources.cpus'],
      [{ resources: { cpus: 1, memoryMb: 0 } }, 'deploy.resources.memoryMb'],
      [{ resources: { cpus: 1, memoryMb: 24_001 } }, 'deploy.resources.memoryMb'],
      [{ resources: { cpus: 1, memoryMb: 1, diskMb: 60_001 } }, 'deploy.resources.diskMb'],
      [{ resources: { cpus: '1' } }, 'deploy.resources.cpus'],
      [{ healthcheck: {}, resources: port }, 'deploy.healthcheck.uri'],
      [{ healthcheck: { uri: '/', portIndex: 1 }, resources: port }, 'deploy.healthcheck.portIndex'],
      [{ healthcheck: { uri: '/', portIndex: 0, portNumber: 80 }, resources: port }, 'deploy.healthcheck.portNumber'],
      [{ healthcheck: { uri: '/', protocol: 'FTP' }, resources: port }, 'deploy.healthcheck.protocol'],
      [{ healthcheck: { uri: '/', startupDelaySeconds: 600 }, resources: port }, 'startupDelaySeconds'],
      [{ loadBalancerPortIndex: 1, resources: port }, 'deploy.loadBalancerPortIndex'],
      [{ containerInfo: { type: 'DOCKER', docker: { image: '-x' } } }, 'deploy.containerInfo'],
      [{ ...executed, executorData: { cmd: 'x', logrotateFrequency: 'NEVER' } }, 'executorData.logrotateFrequency'],
      [{ ...executed, executorData: {} }, 'deploy.executorData.cmd'],
      [{ labels: { a: 'b' }, clusterLabels: [{ key: 'a', value: 'c' }] }, 'deploy.clusterLabels'],
      [{ deployInstanceCountPerStep: 0 }, 'deploy.deployInstanceCountPerStep'],
      [{ maxTaskRetries: -1 }, 'deploy.maxTaskRetries'],
      [{ runImmediately: {} }, 'deploy.runImmediately'],
      [{ canaryDeploySettings: { canaryCycleCount: 0 } }, 'deploy.canaryDeploySettings.canaryCycleCount'],
    ])('with %j, naming %s', async (changes, field) => {
      const id = `refused-${JSON.stringify(changes).replaceAll(/\W/g, '').slice(0, 80)}`;
      await scene.request({ id });
      const body = { deploy: { ...sleeping(id), ...changes } };
      const { errors, message } = await scene.refuses(start, 400, { body });
      expect(errors.map((error) => error.field).join()).toContain(field);
      expect(message).toContain(field);
      expect((await scene.one(id)).requestDeployState).toBeUndefined();
    });

    test('without a deploy, with an update of another request, and of no request', async () => {
      await scene.request({ id: 'refusing' });
      const deploy = sleeping('refusing');
      expect((await scene.refuses(start, 400, { body: {} })).errors).toMatchObject([{ field: 'deploy' }]);
      await scene.refuses(start, 400);
      const other = { id: 'other', requestType: 'SERVICE' };
      const { message } = await scene.refuses(start, 400, { body: { deploy, updatedRequest: other } });
      expect(message).toContain('updatedRequest');
      const unpauseOnSuccessfulDeploy = 'perhaps';
      await scene.refuses(start, 400, { body: { deploy, unpauseOnSuccessfulDeploy } });
      expect((await scene.refuses(start, 404, { body: { deploy: sleeping('nowhere') } })).code).toBe(
        'REQUEST_NOT_FOUND',
      );
    });

    test('under an id that was used, while another is in progress, and after a change that was not planned with', async () => {
      await scene.running({ id: 'taken' });
      const again = await scene.refuses(start, 400, { body: { deploy: sleeping('taken') } });
      expect(again.errors).toMatchObject([{ field: 'deploy.id', rule: 'unique' }]);
      const body = { deploy: sleeping('taken', { id: 'v2', considerHealthyAfterRunningForSeconds: 600 }) };
      const query = { checkIndex: '1~1~~' };
      expect((await scene.refuses(start, 409, { body, query })).code).toBe('CHANGED_MEANWHILE');
      expect((await scene.refuses(start, 400, { body, query: { checkIndex: 'x' } })).message).toContain('checkIndex');
      await operations.call(start, 200, { body });
      const third = { deploy: sleeping('taken', { id: 'v3' }) };
      const refusal = await scene.refuses(start, 409, { body: third });
      expect([refusal.code, refusal.message]).toEqual(['DEPLOY_IN_PROGRESS', expect.stringContaining('v2')]);
    });

    test('when it ends many tasks at once and the caller did not say that this is meant', async () => {
      await scene.request({ id: 'shrinking', requestType: 'WORKER', instances: 12 });
      await scene.deploy('shrinking', { resources: { cpus: 0.01, memoryMb: 8 } });
      await operations.api.deployEnded('shrinking', 'v1');
      const updatedRequest = { id: 'shrinking', requestType: 'WORKER', instances: 1 };
      const body = { deploy: sleeping('shrinking', { id: 'v2' }), updatedRequest };
      expect((await scene.refuses(start, 400, { body })).message).toContain('largeScaleDownAcknowledged');
      await operations.call(start, 200, { body, query: { largeScaleDownAcknowledged: true } });
    });
  });
}

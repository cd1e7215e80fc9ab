import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { Task } from '../../src/core/model/task.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { type Api, ApiError } from '../e2e/support/api.js';
import { Installation } from '../e2e/support/product.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { testImage } from './lab/image.js';
import { Lab, labBinaries } from './lab/lab.js';

/* What a cluster has beside its nodes: claims, config maps, secrets, extended resources, priority classes, zones, pods of others. */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

const slow = { timeoutMillis: 60_000, everyMillis: 200 };
const gpu = 'muster.test/gpu';
const namespace = '/api/v1/namespaces/muster';

describe.skipIf(labBinaries === undefined)('objects of a real Kubernetes', () => {
  let lab: Lab;
  let installation: Installation;
  let api: Api;

  beforeAll(async () => {
    lab = await Lab.start({ nodes: 2, controllers: ['persistentvolume-binder'], hasAccounts: true });
    for (const [name, zone] of [
      ['node-1', 'zone-a'],
      ['node-2', 'zone-b'],
    ]) {
      const labels = { 'topology.kubernetes.io/zone': zone, disk: name === 'node-1' ? 'ssd' : 'hdd' };
      await lab.api.call(`/api/v1/nodes/${name}`, { method: 'PATCH', body: { metadata: { labels } } });
    }
    // As a plug-in of a device says it.
    const body = { status: { capacity: { [gpu]: '2' }, allocatable: { [gpu]: '2' } } };
    await lab.api.call('/api/v1/nodes/node-1/status', { method: 'PATCH', body });
    await make('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'tasks' }, value: 1_000 });
    await makeObjects();
    const allowedObjects = [
      { kind: 'SECRET', name: 'keys' },
      { kind: 'SECRET', name: 'ops-*', groups: ['ops'] },
      { kind: 'CONFIG_MAP', name: 'settings' },
      { kind: 'PERSISTENT_VOLUME_CLAIM', name: 'data-*' },
      { kind: 'SECRET', name: 'gone' },
      { kind: 'CONFIG_MAP', name: 'gone' },
      { kind: 'SERVICE_ACCOUNT', name: 'reporter', groups: ['ops'] },
    ];
    await make(`${namespace}/serviceaccounts`, { metadata: { name: 'reporter' } });
    const nodeAccess = {
      allowedHostPaths: [claimed()],
      allowedNetworks: ['BRIDGE', 'HOST'],
      nodeAccessGroups: ['ops'],
    };
    installation = new Installation({
      database: createDatabase,
      settings: { cluster: { kubernetes: lab.settings({ allowedObjects, priorityClass: 'tasks', ...nodeAccess }) } },
      env: { MUSTER_CLUSTER: 'kubernetes' },
    });
    ({ api } = await installation.start());
    await waitFor('both nodes', async () => (await api.get<unknown[]>('slaves?state=ACTIVE')).length === 2, slow);
  });
  afterAll(async () => {
    await installation?.dispose();
    await lab?.stop();
  });

  const make = (path: string, body: object) => lab.api.call(path, { method: 'POST', body });
  const claimed = () => join(lab.folder, 'claimed');

  async function makeObjects(): Promise<void> {
    await make(`${namespace}/secrets`, { metadata: { name: 'keys' }, stringData: { db: 'open sesame', other: 'x' } });
    await make(`${namespace}/secrets`, { metadata: { name: 'ops-keys' }, stringData: { db: 'of ops' } });
    await make(`${namespace}/configmaps`, { metadata: { name: 'settings' }, data: { 'app.conf': 'size = 3' } });
    mkdirSync(claimed());
    chmodSync(claimed(), 0o777);
    const size = { storage: '1Gi' };
    const claim = { accessModes: ['ReadWriteMany'], storageClassName: '' };
    await make('/api/v1/persistentvolumes', {
      metadata: { name: 'data-1' },
      spec: { ...claim, capacity: size, hostPath: { path: claimed() } },
    });
    await make(`${namespace}/persistentvolumeclaims`, {
      metadata: { name: 'data-1' },
      spec: { ...claim, volumeName: 'data-1', resources: { requests: size } },
    });
    await waitFor(
      'the claim to be bound',
      async () => {
        const found = await lab.api.call<{ status?: { phase?: string } }>(`${namespace}/persistentvolumeclaims/data-1`);
        return found.status?.phase === 'Bound';
      },
      slow,
    );
  }

  const resources = { cpus: 0.1, memoryMb: 32 };
  const inImage = (volumes: object[]): Pick<Deploy, 'containerInfo'> => ({
    containerInfo: {
      type: 'DOCKER',
      docker: { image: testImage, privileged: false, network: 'BRIDGE' },
      volumes: volumes as NonNullable<Deploy['containerInfo']>['volumes'],
    },
  });
  const machineOf = (task: Task) => task.clusterTask?.slaveId?.value;

  /** The end of the run of a job. */
  async function outputOf(requestId: string, deploy: Partial<Deploy>, request: object = {}): Promise<string> {
    await api.saveRequest({ id: requestId, requestType: 'ON_DEMAND', ...request });
    await api.deploy({ requestId, id: 'v1', resources, runImmediately: { runId: 'run' }, ...deploy });
    const { taskId, currentState } = await waitFor(
      `the end of ${requestId}`,
      async () => {
        const run = await api.get<{ currentState?: string; taskId: { id: string } }>(`track/run/${requestId}/run`);
        return /FINISHED|FAILED|LOST/.test(run.currentState ?? '') && run;
      },
      slow,
    );
    expect(currentState).toBe('TASK_FINISHED');
    return (await api.get<{ data: string }>(`sandbox/${taskId.id}/read?path=stdout&offset=0&length=1000`)).data;
  }

  async function refusal(deploy: Partial<Deploy>, request: object = {}) {
    await api.saveRequest({ id: 'refused', requestType: 'ON_DEMAND', ...request });
    const cause: unknown = await api
      .deploy({ requestId: 'refused', id: 'v1', command: 'true', resources, ...deploy })
      .then(() => undefined)
      .catch((thrown: unknown) => thrown);
    if (!(cause instanceof ApiError)) throw new Error('It was not refused', { cause });
    const { errors } = JSON.parse(cause.body) as { errors: { field: string; rule: string }[] };
    return { status: cause.status, errors: errors.map(({ field, rule }) => `${field} ${rule}`) };
  }

  test('a task sees its claim, config map and secret as files, and a value of a secret as a variable', async () => {
    const script = 'cat /config/app.conf; echo; cat /keys/db; echo; echo "$DB $INSTANCE_NO"; echo kept >/data/file';
    const printed = await outputOf('reader', {
      command: '/bin/sh',
      arguments: ['-c', script],
      secretEnv: [{ name: 'DB', secret: 'keys', key: 'db' }],
      ...inImage([
        { containerPath: '/data', mode: 'RW', source: { type: 'PERSISTENT_VOLUME_CLAIM', name: 'data-%i' } },
        { containerPath: '/config', source: { type: 'CONFIG_MAP', name: 'settings' } },
        { containerPath: '/keys', source: { type: 'SECRET', name: 'keys' } },
      ]),
    });
    expect(printed).toBe('size = 3\nopen sesame\nopen sesame 1\n');
    expect(readFileSync(join(claimed(), 'file'), 'utf8')).toBe('kept\n');
    // No record of Muster has the value.
    const text = JSON.stringify([await api.get('requests/request/reader'), await api.endedTasks('reader')]);
    expect(text).not.toContain('open sesame');
  });

  test('names that the settings do not allow to the group of the request are refused by field and rule', async () => {
    const secretEnv = [{ name: 'DB', secret: 'ops-keys', key: 'db' }];
    expect(await refusal({ secretEnv })).toEqual({ status: 400, errors: ['deploy.secretEnv[0].secret supported'] });
    expect(await refusal({ secretEnv }, { group: 'web' })).toMatchObject({ status: 400 });
    const volumes = [{ containerPath: '/x', source: { type: 'SECRET', name: 'muster-agents' } }];
    expect(await refusal(inImage(volumes))).toEqual({
      status: 400,
      errors: ['deploy.containerInfo.volumes[0].source.name supported'],
    });
    const deploy = { command: 'echo "$DB"', secretEnv };
    expect(await outputOf('of-ops', deploy, { group: 'ops' })).toBe('of ops\n');
  });

  test('a task has the token of the account that its deploy names, and no other task has any', async () => {
    const token = '/var/run/secrets/kubernetes.io/serviceaccount/token';
    const command = `test -e ${token} && cut -d. -f2 ${token} || echo none`;
    expect(await outputOf('tokenless', { command })).toBe('none\n');
    expect(await refusal({ command, serviceAccount: 'reporter' })).toEqual({
      status: 400,
      errors: ['deploy.serviceAccount supported'],
    });
    const printed = await outputOf('reporter', { command, serviceAccount: 'reporter' }, { group: 'ops' });
    const { sub } = JSON.parse(Buffer.from(printed.trim(), 'base64url').toString()) as { sub: string };
    expect(sub).toBe('system:serviceaccount:muster:reporter');
  });

  test('access to the node is for the groups that the settings name', async () => {
    const volumes = [{ containerPath: '/x', hostPath: claimed() }];
    expect(await refusal(inImage(volumes))).toEqual({
      status: 400,
      errors: ['deploy.containerInfo.volumes[0].hostPath supported'],
    });
    const onNetwork = {
      type: 'DOCKER' as const,
      docker: { image: testImage, privileged: false, network: 'HOST' as const },
    };
    expect(await refusal({ containerInfo: onNetwork }, { group: 'web' })).toEqual({
      status: 400,
      errors: ['deploy.containerInfo.docker.network supported'],
    });
    const deploy = { command: '/bin/sh', arguments: ['-c', 'cat /x/file'], ...inImage(volumes) };
    expect(await outputOf('on-node', deploy, { group: 'ops' })).toBe('kept\n');
  });

  describe('what keeps a pod from its start is told while it waits:', () => {
    /** The task of a service that cannot start, and what explain says of it. */
    async function reasonOf(requestId: string, deploy: Partial<Deploy>, told: RegExp) {
      await api.saveRequest({ id: requestId, requestType: 'SERVICE' });
      await api.deploy({ requestId, id: 'v1', resources, command: 'exec sleep 1000', ...deploy });
      return waitFor(
        `the reason of ${requestId}`,
        async () => {
          const { startingTasks = [] } = await api.get<RequestExplanationDto>(`requests/request/${requestId}/explain`);
          return startingTasks.find(({ message }) => told.test(message));
        },
        slow,
      );
    }
    const remove = (requestId: string) => api.call('DELETE', `requests/request/${requestId}`);

    test('an image that cannot be pulled, once, while its kubelet tries again', async () => {
      const containerInfo = {
        type: 'DOCKER' as const,
        docker: { image: 'registry.invalid/shop:7', privileged: false, network: 'BRIDGE' as const },
      };
      const told =
        /^Its node 'node-\d' cannot pull image 'registry\.invalid\/shop:7': ErrImagePull: .*registry\.invalid/;
      const { taskId, state } = await reasonOf('no-image', { containerInfo }, told);
      expect(state).toBe('TASK_STARTING');
      const backsOff = async () =>
        (await lab.pods()).some(
          ({ status }) => status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff',
        );
      await waitFor('its kubelet to back off', backsOff, slow);
      const { taskUpdates } = await api.history(taskId.id);
      expect(taskUpdates.map(({ taskState }) => taskState).toSorted()).toEqual(['TASK_LAUNCHED', 'TASK_STARTING']);
      const starting = taskUpdates.find(({ taskState }) => taskState === 'TASK_STARTING');
      expect(starting).toMatchObject({ statusMessage: expect.stringMatching(told), previous: [] });
      await remove('no-image');
    });

    test('a secret of a variable that does not exist, which ends it', async () => {
      const requestId = 'no-secret';
      await api.saveRequest({ id: requestId, requestType: 'ON_DEMAND' });
      const secretEnv = [{ name: 'DB', secret: 'gone', key: 'db' }];
      const runImmediately = { runId: 'run' };
      await api.deploy({ requestId, id: 'v1', resources, command: 'true', secretEnv, runImmediately });
      const ended = () => api.endedTasks(requestId).then(([task]) => task);
      const { taskId } = await waitFor('its end', ended, slow);
      const words =
        /Its node 'node-\d' cannot start its container: CreateContainerConfigError: secret "gone" not found$/;
      const { taskUpdates } = await api.history(taskId.id);
      const messageOf = (state: string) => taskUpdates.find(({ taskState }) => taskState === state)?.statusMessage;
      expect(messageOf('TASK_STARTING')).toMatch(words);
      expect(taskUpdates.at(-1)?.taskState).toBe('TASK_FAILED');
      expect(messageOf('TASK_FAILED')).toMatch(/^Could not start: Its node .* not found$/);
    });

    test.each([
      { requestId: 'no-config', source: { type: 'CONFIG_MAP', name: 'gone' }, told: "config map 'gone'" },
      { requestId: 'no-claim', source: { type: 'PERSISTENT_VOLUME_CLAIM', name: 'data-9' }, told: "claim 'data-9'" },
    ])('a volume that is not there, by name: $told', async ({ requestId, source, told }) => {
      const mounted = inImage([{ containerPath: '/x', source }]);
      const { message } = await reasonOf(requestId, { ...mounted }, /prepares its volumes/);
      expect(message).toContain(`prepares its volumes (${told}) and network; kubectl describe pod muster-`);
      await remove(requestId);
    });
  });

  test('pods have the priority class of the settings, and zones are racks', async () => {
    const pods = await lab.pods();
    expect(pods.map(({ spec }) => spec?.['priority'])).toEqual(pods.map(() => 1_000));
    expect(pods.length).toBeGreaterThan(0);
    const slaves = await api.get<{ id: string; rackId: string; resources: object }[]>('slaves');
    expect(slaves.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
      { id: 'node-1', rackId: 'zone-a', resources: { extended: { [gpu]: 2 } } },
      { id: 'node-2', rackId: 'zone-b' },
    ]);
  });

  test('a task for a label goes to a node with it', async () => {
    await api.saveRequest({ id: 'ssd', requestType: 'WORKER', instances: 2, requiredSlaveAttributes: { disk: 'ssd' } });
    await api.deploy({ requestId: 'ssd', id: 'v1', command: 'exec sleep 1000', resources });
    expect((await api.running('ssd', 2, 60_000)).map(machineOf)).toEqual(['node-1', 'node-1']);
  });

  /** A pod that Muster has not made. */
  const occupy = (name: string, node: string, requests: object) =>
    make('/api/v1/namespaces/default/pods', {
      metadata: { name },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'other',
            image: testImage,
            command: ['/bin/sleep', '100000'],
            resources: { requests, limits: requests },
          },
        ],
      },
    });
  const release = (name: string) =>
    lab.api.call(`/api/v1/namespaces/default/pods/${name}`, { method: 'DELETE', body: { gracePeriodSeconds: 0 } });
  const resourcesOf = async (id: string) =>
    (await api.get<{ id: string; resources: { cpus: number; mem: number; extended?: object } }[]>('slaves')).find(
      (slave) => slave.id === id,
    )!.resources;

  test('extended resources are given to as many tasks as there are, pods of others counted', async () => {
    await occupy('other-gpu', 'node-1', { [gpu]: '1' });
    await waitFor('it to be counted', async () => (await resourcesOf('node-1')).extended, slow);
    await waitFor(
      'one of them to be taken',
      async () => ((await resourcesOf('node-1')).extended as Record<string, number>)[gpu] === 1,
      slow,
    );
    await api.saveRequest({ id: 'learn', requestType: 'WORKER', instances: 2, slavePlacement: 'GREEDY' });
    const asked = { ...resources, extended: { [gpu]: 1 } };
    await api.deploy({ requestId: 'learn', id: 'v1', command: 'exec sleep 1000', resources: asked });
    const waiting = await waitFor(
      'one to wait',
      async () => {
        const { activeTasks, pendingTasks } = await api.get<{
          activeTasks: number;
          pendingTasks: { reason: string; rejections: object[]; message: string }[];
        }>('requests/request/learn/explain');
        return activeTasks === 1 && pendingTasks[0]?.reason === 'NO_MATCHING_SLAVE' && pendingTasks[0];
      },
      slow,
    );
    expect(waiting.rejections).toMatchObject([{ reason: 'NOT_ENOUGH_EXTENDED_RESOURCES', slaves: 2, asked: 1 }]);
    expect(waiting.message).toContain(`the task asks for 1 ${gpu}; the largest of these 2 slaves has 1, 0 free`);
    await release('other-gpu');
    const both = await api.running('learn', 2, 60_000);
    expect(both.map(machineOf)).toEqual(['node-1', 'node-1']);
    const pods = (await lab.pods()).filter(({ metadata }) => metadata?.labels?.['muster/request'] === 'learn');
    expect(pods.map(({ spec }) => spec?.containers?.[0]?.resources?.limits?.[gpu])).toEqual(['1', '1']);
  });

  test('pods that others made leave less of a node', async () => {
    const before = await resourcesOf('node-2');
    await occupy('other-cpus', 'node-2', { cpu: String(before.cpus - 0.2), memory: '64Mi' });
    await waitFor('it to be counted', async () => (await resourcesOf('node-2')).cpus === 0.2, slow);
    expect((await resourcesOf('node-2')).mem).toBe(before.mem - 64);
    await api.saveRequest({ id: 'spread', requestType: 'WORKER', instances: 3, rackAffinity: ['zone-b'] });
    await api.deploy({ requestId: 'spread', id: 'v1', command: 'exec sleep 1000', resources });
    await waitFor('two of them', async () => (await api.activeTasks('spread')).length === 2, slow);
    const { pendingTasks } = await api.get<{ pendingTasks: { rejections: { reason: string }[] }[] }>(
      'requests/request/spread/explain',
    );
    expect(pendingTasks[0]!.rejections.map(({ reason }) => reason)).toContain('NOT_ENOUGH_CPUS');
    await release('other-cpus');
    expect((await api.running('spread', 3, 60_000)).map(machineOf)).toEqual(['node-2', 'node-2', 'node-2']);
  });

  test('a name that only looks like an extended resource, and a fraction of one, are refused', async () => {
    for (const [extended, rule] of [
      [{ gpu: 1 }, 'extended'],
      [{ 'kubernetes.io/x': 1 }, 'extended'],
      [{ [gpu]: 0.5 }, 'type'],
      [{ [gpu]: 0 }, 'extended'],
    ] as const)
      expect(await refusal({ resources: { ...resources, extended } as Deploy['resources'] })).toEqual({
        status: 400,
        errors: [`deploy.resources.extended ${rule}`],
      });
  });
});

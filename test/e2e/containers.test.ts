import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import type { SandboxListing } from '../../src/modules/sandbox/sandbox.service.js';
import type { RequestExplanationDto } from '../../src/scheduler/explain/dto/explanation.dto.js';
import { image, type TestPodman, testPodman, withoutBridges, withoutPodman } from '../support/podman.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, ApiError, portsOf } from './support/api.js';
import { pidsOfTask } from './support/processes.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/* Containers through the whole product: what callers are told, and what real ones do on the machine. */

const resources = { cpus: 0.1, memoryMb: 64 };
const deployOf = (requestId: string, changes: Partial<Deploy> = {}): Deploy => ({
  requestId,
  id: 'v1',
  command: 'true',
  resources,
  containerInfo: { type: 'DOCKER', docker: { image, privileged: false, network: 'HOST' } },
  ...changes,
});

describe('without an engine', () => {
  const folder = tempFolder();
  const engine = join(folder.path, 'podman');
  const installation = new Installation({
    database: createDatabase,
    local: { containers: { engine, allowedNetworks: ['HOST'] } },
  });
  let api: Api;
  beforeAll(async () => ({ api } = await installation.start(['start'])), 90_000);
  afterAll(async () => {
    await installation.dispose();
    folder.remove();
  }, 90_000);

  test('a deploy with a container is refused, and the answer names the reason and the way out', async () => {
    await api.saveRequest({ id: 'refused', requestType: 'RUN_ONCE' });
    await waitFor('the machine', async () => (await api.get<unknown[]>('slaves')).length === 1);
    const cause = await api.deploy(deployOf('refused')).catch((error: unknown) => error);
    expect(cause).toBeInstanceOf(ApiError);
    expect(JSON.parse((cause as ApiError).body)).toMatchObject({
      status: 400,
      code: 'NOT_SUPPORTED',
      message: `deploy.containerInfo: no machine has an engine for containers that works (${engine} is not installed); with the setting cluster.local.containers.required: false the deploy would wait for one`,
      errors: [{ field: 'deploy.containerInfo', rule: 'supported' }],
    });
    await api.deploy(deployOf('refused', { containerInfo: { type: 'MESOS' } }));
  });
});

describe.skipIf(withoutPodman !== undefined)(`with podman (${withoutPodman ?? 'installed'})`, () => {
  let podman: TestPodman;
  let installation: Installation;
  let api: Api;
  /** Path at which the agent looks for the engine; at first there is none. */
  let engine: string;
  beforeAll(async () => {
    podman = testPodman();
    if (withoutBridges === undefined) podman.addNetwork();
    engine = join(podman.folder, 'later');
    installation = new Installation({
      database: createDatabase,
      local: { containers: { ...podman.settings, engine, required: false } },
    });
    ({ api } = await installation.start(['start']));
  }, 120_000);
  afterAll(async () => {
    await installation.dispose();
    podman.remove();
  }, 90_000);

  const endOf = (requestId: string) =>
    waitFor(
      `the end of ${requestId}`,
      async () => {
        const [task] = await api.endedTasks(requestId);
        return task?.lastTaskState && (await api.history(task.taskId.id));
      },
      { timeoutMillis: 60_000 },
    );

  test('where none is required a deploy waits, its explanation says why, and it runs when there is one', async () => {
    await api.saveRequest({ id: 'waits', requestType: 'RUN_ONCE' });
    await api.deploy(deployOf('waits', { command: 'echo', arguments: ['there'] }));
    const waiting = await waitFor('the pending task', async () => {
      const { pendingTasks } = await api.get<RequestExplanationDto>('requests/request/waits/explain');
      return pendingTasks[0]?.reason === 'NO_MATCHING_SLAVE' && pendingTasks[0];
    });
    expect(waiting.rejections).toEqual([{ reason: 'SLAVE_WITHOUT_CONTAINERS', slaves: 1 }]);
    expect(waiting.message).toContain('without a container engine');
    const half = `${engine}.half`;
    writeFileSync(half, `#!/bin/sh\nexec ${podman.engine} "$@"\n`, { mode: 0o755 });
    renameSync(half, engine);
    const { task, taskUpdates } = await endOf('waits');
    expect(taskUpdates.map(({ taskState }) => taskState)).toContain('TASK_FINISHED');
    const out = await api.get<{ data: string }>(`sandbox/${task.taskId.id}/read?path=stdout&offset=0`);
    expect(out.data).toBe('there\n');
  }, 120_000);

  test('a service deploys, is healthy, is reached, shows its logs and its use, and leaves nothing when it is killed', async () => {
    await api.saveRequest({ id: 'web', requestType: 'SERVICE', instances: 1 });
    const page = Buffer.from('hello from a container\n').toString('base64');
    await api.deploy(
      deployOf('web', {
        command: undefined,
        customExecutorCmd: '/usr/local/bin/executor',
        executorData: {
          cmd: `sh -c 'echo "serving on $PORT0"; exec httpd -f -p "$PORT0" -h .'`,
          embeddedArtifacts: [{ filename: 'index.html', content: [page], targetFolderRelativeToTask: 'app' }],
        },
        resources: { ...resources, numPorts: 1 },
        healthcheck: { uri: '/index.html', intervalSeconds: 1, startupDelaySeconds: 0 },
      }),
    );
    expect((await api.deployEnded('web', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
    const [task] = await api.running('web', 1);
    const { id } = task!.taskId;
    const [port] = portsOf(task!);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('hello from a container\n');
    const { healthcheckResults } = await api.history(id);
    expect(healthcheckResults.at(-1)).toMatchObject({ statusCode: 200 });

    const { files } = await api.get<SandboxListing>(`sandbox/${id}/browse?path=${id}`);
    expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(['service.log', 'docker_image.json']));
    const log = await api.get<{ data: string }>(`sandbox/${id}/read?path=${id}/service.log&offset=0`);
    expect(log.data).toBe(`serving on ${port}\n`);
    const usage = await api.get<{ memTotalBytes: number }>(`tasks/task/${id}/statistics`);
    expect(usage.memTotalBytes).toBeGreaterThan(0);
    expect(podman.names()).toEqual([`se-${id}`]);

    await api.call('DELETE', 'requests/request/web');
    const last = await waitFor('the end', async () => {
      const { taskUpdates } = await api.history(id);
      return taskUpdates.at(-1)?.taskState === 'TASK_KILLED' && taskUpdates.at(-1);
    });
    expect(last.statusMessage).toMatch(/^(Killed|Destroyed)/);
    expect(podman.names()).toEqual([]);
    expect(pidsOfTask(id)).toEqual([]);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  }, 120_000);

  test.skipIf(withoutBridges !== undefined)(
    `a service behind a bridge is reached through the port that it was given (${withoutBridges ?? 'bridges work'})`,
    async () => {
      await api.saveRequest({ id: 'bridged', requestType: 'SERVICE', instances: 1 });
      await api.deploy(
        deployOf('bridged', {
          // Process 1 of a container ignores SIGTERM unless it says what to do.
          command:
            "trap 'exit 0' TERM; cd $CLUSTER_SANDBOX; echo behind a bridge >index.html; httpd -f -p 8080 -h . & wait",
          shell: true,
          resources: { ...resources, numPorts: 1 },
          healthcheck: { uri: '/', intervalSeconds: 1, startupDelaySeconds: 0 },
          containerInfo: {
            type: 'DOCKER',
            docker: {
              image,
              privileged: false,
              network: 'BRIDGE',
              portMappings: [{ containerPort: 8080, hostPort: 0, hostPortType: 'FROM_OFFER' }],
            },
          },
        }),
      );
      expect((await api.deployEnded('bridged', 'v1')).deployResult?.deployState).toBe('SUCCEEDED');
      const [task] = await api.running('bridged', 1);
      expect(await (await fetch(`http://127.0.0.1:${portsOf(task!)[0]}/`)).text()).toBe('behind a bridge\n');
      await api.call('DELETE', 'requests/request/bridged');
      await waitFor('its end', () => podman.names().length === 0);
    },
    120_000,
  );

  test('what the operator has not allowed is refused by its field', async () => {
    const cases: [Partial<NonNullable<Deploy['containerInfo']>>, string][] = [
      [{ docker: { image, privileged: true, network: 'HOST' } }, 'containerInfo.docker.privileged'],
      [
        { docker: { image, privileged: false }, volumes: [{ containerPath: '/a', hostPath: '/etc' }] },
        'containerInfo.volumes[0].hostPath',
      ],
      [
        { docker: { image, privileged: false, dockerParameters: [{ key: 'volume', value: '/:/a' }] } },
        'containerInfo.docker.dockerParameters[0]',
      ],
    ];
    await api.saveRequest({ id: 'asks', requestType: 'RUN_ONCE' });
    for (const [changes, field] of cases) {
      const cause = await api
        .deploy(deployOf('asks', { containerInfo: { type: 'DOCKER', ...changes } }))
        .catch((error: unknown) => error);
      expect(cause, field).toBeInstanceOf(ApiError);
      expect(JSON.parse((cause as ApiError).body)).toMatchObject({
        status: 400,
        errors: [{ field: `deploy.${field}`, rule: 'supported' }],
      });
    }
  });
});

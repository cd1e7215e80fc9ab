import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deploy } from '../../src/core/model/deploy.js';
import { image, type TestPodman, testPodman, withoutPodman } from '../support/podman.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { type Api, ApiError } from './support/api.js';
import { Installation } from './support/product.js';

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
  beforeAll(async () => {
    podman = testPodman();
    installation = new Installation({
      local: { containers: podman.settings },
    });
    ({ api } = await installation.start(['start']));
  }, 120_000);
  afterAll(async () => {
    await installation.dispose();
    podman.remove();
  }, 90_000);

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

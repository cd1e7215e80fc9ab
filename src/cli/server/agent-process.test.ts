import { expect, test } from 'vitest';
import { engineVariables } from '../../agent/containers/engine-variables.js';
import { environmentOfAgent } from './agent-process.js';

test('the agent gets what leads to an engine and its registries, and none of the secrets of the service', () => {
  const leads = Object.fromEntries(engineVariables.map((name) => [name, 'x']));
  expect(Object.keys(leads)).toEqual(expect.arrayContaining(['DOCKER_HOST', 'XDG_RUNTIME_DIR', 'REGISTRY_AUTH_FILE']));
  const given = { ...leads, HTTPS_PROXY: 'x', DATABASE_URL: 'x', MUSTER_TOKEN: 'x', LD_PRELOAD: 'x', DOCKER: 'x' };
  expect(environmentOfAgent(given)).toEqual({ ...leads, HTTPS_PROXY: 'x' });
});

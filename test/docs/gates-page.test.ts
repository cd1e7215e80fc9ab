import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { normalizeDeploy, validateDeploy } from '../../src/core/deploy-validation/index.js';
import { leastMillis } from '../../src/core/gates/index.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import { userActions } from '../../src/core/model/enums.js';
import { gateStates, gateTypes } from '../../src/core/model/gate.js';
import { ServiceCredentials } from '../../src/platform/service-credentials.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';

const page = readFileSync(new URL('../../docs/gates.md', import.meta.url), 'utf8');
const [deployFile, settingsFile, credentialsFile, requestFile] = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(
  ([, text]) => parse(text!) as Record<string, unknown>,
);
const settings = SettingsFile.parse({ ...settingsFile, auth: { enabled: true } });

test('the deploy and the settings of docs/gates.md are accepted', () => {
  const deploy = normalizeDeploy(deployFile!['deploy'] as Deploy);
  expect(deploy.canaryDeploySettings?.gates?.map(leastMillis)).toEqual([120_000, 80_000, 0]);
  const request = { id: 'shop', requestType: 'SERVICE' } as const;
  expect(validateDeploy(deploy, { request, settings, now: 0 })).toEqual([]);
});

test('the credentials of the page are sent to the addresses that it says, for the groups that it says', async () => {
  const { gates, prometheus } = SettingsFile.parse(credentialsFile);
  const credentials = new ServiceCredentials(
    Object.fromEntries(Object.entries(gates.credentials!).map(([uri, given]) => [uri, { ...given, secret: 'x' }])),
  );
  const gets = async (uri: string, group?: string) => (await credentials.of(new URL(uri), group)) !== undefined;
  expect(await gets(`${prometheus.uri}/api/v1/query`)).toBe(true);
  expect(await gets(`${prometheus.uri}/api/v1/admin/tsdb/delete_series`)).toBe(false);
  expect(await gets('https://checks.example.com/any', 'shop-team')).toBe(true);
  expect(await gets('https://checks.example.com/any')).toBe(false);
  for (const sign of ['%2f', '%2e', '%5c', '%25', ';', '//']) {
    expect(page).toContain(`\`${sign}\``);
    expect(await gets(`https://checks.example.com/a${sign}b`, 'shop-team')).toBe(false);
  }
});

test('the actions of its request exist', () => {
  const actions = Object.values(requestFile!['actionPermissions'] as Record<string, string[]>).flat();
  expect(actions.filter((action) => !(userActions as readonly string[]).includes(action))).toEqual([]);
});

test('it names every type and state of gates', () => {
  for (const type of gateTypes) expect(page).toContain(`\`${type}\``);
  for (const state of gateStates) expect(page).toContain(state);
});

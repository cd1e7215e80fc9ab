import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { normalizeDeploy, validateDeploy } from '../../src/core/deploy-validation/index.js';
import {
  leftOutReasons,
  proxyFormats,
  proxyText,
  readDnsName,
  routeOf,
  serviceEndpoints,
} from '../../src/core/discovery/index.js';
import type { Deploy } from '../../src/core/model/deploy.js';
import { SettingsFile } from '../../src/platform/settings/settings.js';
import { ExampleProxy } from '../support/proxies/example-proxy.js';

const page = readFileSync(new URL('../../docs/service-discovery.md', import.meta.url), 'utf8');
const yaml = (beginning: string): unknown =>
  parse(
    [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!).find((text) => text.startsWith(beginning))!,
  );
const settings = SettingsFile.parse(yaml('dns:'));

test('it names every reason and every format', () => {
  for (const reason of leftOutReasons) expect(page).toContain(`| \`${reason}\``);
  for (const format of proxyFormats) expect(page).toContain(`| \`${format.toLowerCase()}\``);
});

test('its answer has the members of an endpoint', () => {
  const [, json] = /```json\n([\s\S]*?)```/.exec(page)!;
  const { endpoints, ...rest } = JSON.parse(json!) as { endpoints: object[]; requestId: string };
  expect(Object.keys({ ...rest, endpoints })).toEqual(
    expect.arrayContaining(Object.keys(serviceEndpoints('web', [], 0))),
  );
  expect(Object.keys(endpoints[0]!).toSorted()).toEqual(
    ['taskId', 'deployId', 'instanceNo', 'host', 'slaveId', 'rackId', 'ports', 'port', 'healthySince'].toSorted(),
  );
});

test('its service is routed by Traefik', () => {
  const deploy = normalizeDeploy((yaml('deploy:') as { deploy: Deploy }).deploy);
  expect(
    validateDeploy({ ...deploy, id: 'v1' }, { request: { id: 'shop', requestType: 'SERVICE' }, settings, now: 0 }),
  ).toEqual([]);
  const text = proxyText('TRAEFIK', [{ requestId: 'shop', endpoints: [], route: routeOf(deploy) }]) as string;
  expect(JSON.parse(text)).toMatchObject({
    http: { routers: { shop: { rule: '(Host("example.com")) && (PathPrefix("/shop"))' } } },
  });
});

describe('its commands are those that test/load-balancer/discovery.test.ts runs', () => {
  test.each(['nginx', 'haproxy'] as const)('%s', (name) => {
    const output = `muster endpoints discovered --format ${name} --output ${ExampleProxy.fileOf(name)}`;
    const watch = `${output} --watch --exec '${ExampleProxy.reloadOf(name)}'`;
    expect(page.replaceAll(/ \\\n +/g, ' ').split('\n')).toEqual(expect.arrayContaining([output, watch]));
  });
});

test('its names are read as it says', () => {
  const { domain } = settings.dns;
  const rows = [...page.matchAll(/^\| `([\w.-]+\.internal)` +\| `/gm)].map(([, name]) => readDnsName(name!, domain));
  const service = { kind: 'service', requestId: 'shop' };
  expect(rows).toEqual([
    { ...service, port: 'calls' },
    { ...service, port: 1 },
    service,
    { ...service, machine: 'ip-10-0-0-1' },
  ]);
});

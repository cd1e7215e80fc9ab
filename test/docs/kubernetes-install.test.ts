import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadSettings } from '../../src/platform/settings/load-settings.js';
import { chartValues } from '../../scripts/reference.mjs';
import { SettingsFile } from '../../src/platform/settings/settings.js';

/*
 * What can be said of the chart without Helm. test/kubernetes/install has the rest: that deploy/kubernetes is what the chart makes,
 * and what a cluster does with it.
 */
const chart = 'deploy/helm/muster';
const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the values fit their schema, which knows no others', () => {
  const schema = JSON.parse(read(`${chart}/values.schema.json`)) as { properties: object };
  const values = parse(read(`${chart}/values.yaml`)) as object;
  const check = new Ajv({ strict: true, strictTypes: false, allErrors: true }).compile(schema);
  expect(check(values), JSON.stringify(check.errors)).toBe(true);
  expect(Object.keys(values).toSorted()).toEqual(
    Object.keys(schema.properties)
      .filter((key) => key !== 'global')
      .toSorted(),
  );
});

test('docs/chart-values.md is made of the values, of which each has a meaning; node scripts/reference.mjs writes it', () => {
  const page = chartValues();
  expect(page.match(/^- .*: *$/gm)).toBeNull();
  expect(read('docs/chart-values.md')).toBe(page);
});

test('the chart has the version of the program', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  expect(parse(read(`${chart}/Chart.yaml`))).toMatchObject({ version, appVersion: version });
});

test('the schedulers start with the settings and variables that the manifests give them', () => {
  const documents = parseAllDocuments(read('deploy/kubernetes/scheduler.yaml')).map((each) => each.toJS() as Manifest);
  const settings = documents.find(({ metadata }) => metadata.name === 'muster-settings')!.stringData!['muster.yaml']!;
  expect(SettingsFile.parse(parse(settings)).auth.enabled).toBe(true);
  const pod = documents.find(({ kind }) => kind === 'Deployment')!.spec!.template.spec;
  // A service named muster would name its port MUSTER_PORT.
  expect(pod.enableServiceLinks).toBe(false);
  const [{ env }] = pod.containers as [Container];
  const environment = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const { MUSTER_CONFIG, ...rest } = environment;
  expect(MUSTER_CONFIG).toBe('/etc/muster/muster.yaml');
  const loaded = loadSettings({ environment: { ...rest, DATABASE_URL: 'postgres://db/muster' }, flags: {} });
  expect(loaded).toMatchObject({ clusterDriver: 'kubernetes', port: 7099, host: '0.0.0.0' });
});

interface Container {
  env: { name: string; value?: string }[];
}
interface Manifest {
  kind: string;
  metadata: { name: string };
  stringData?: Record<string, string>;
  spec?: { template: { spec: { enableServiceLinks: boolean; containers: Container[] } } };
}

test('only schedulers reach the agents, and have no rights in other namespaces but to look and to cordon', () => {
  const all = ['rbac', 'scheduler', 'slaves'].flatMap((name) =>
    parseAllDocuments(read(`deploy/kubernetes/${name}.yaml`)).map((each) => each.toJS() as Policed),
  );
  const policy = all.find(({ kind }) => kind === 'NetworkPolicy')!.spec!;
  const labelsOf = (kind: string) => all.find((each) => each.kind === kind)!.spec!.template!.metadata.labels;
  expect(labelsOf('DaemonSet')).toMatchObject(policy.podSelector!.matchLabels);
  expect(labelsOf('Deployment')).not.toMatchObject(policy.podSelector!.matchLabels);
  const [{ from, ports }] = policy.ingress!;
  expect([policy.policyTypes, policy.ingress!.length, from.length]).toEqual([['Ingress'], 1, 1]);
  expect(labelsOf('Deployment')).toMatchObject(from[0]!.podSelector.matchLabels);
  expect(ports).toEqual([{ port: 7098 }]);
  const everywhere = all.find(({ kind }) => kind === 'ClusterRole')!.rules!;
  expect(everywhere.map(({ resources, verbs }) => [resources.join(), verbs.join()])).toEqual([
    ['nodes,pods', 'list,watch'],
    ['nodes', 'patch'],
  ]);
});

interface Selector {
  matchLabels: Record<string, string>;
}
interface Policed {
  kind: string;
  rules?: { resources: string[]; verbs: string[] }[];
  spec?: {
    template?: { metadata: { labels: Record<string, string> } };
    podSelector?: Selector;
    policyTypes?: string[];
    ingress?: [{ from: { podSelector: Selector }[]; ports: { port: number }[] }];
  };
}

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { PodAgentSettings } from '../../../src/pod-agent/pod-agent-settings.js';
import { waitFor } from '../../support/wait-for.js';
import { Lab, labBinaries } from '../lab/lab.js';

const kubeVersion = '1.34.0';

/** Output of `helm template`, or the reason why there is none. */
async function render(...words: string[]): Promise<string> {
  const chart = ['template', 'muster', 'deploy/helm/muster', '--namespace', 'muster', '--kube-version', kubeVersion];
  return (await promisify(execFile)(join(labBinaries!, 'helm'), [...chart, ...words])).stdout;
}

interface Rendered {
  kind: string;
  metadata: { name: string };
  stringData?: Record<string, string>;
  data?: Record<string, string>;
  rules?: { resourceNames?: string[] }[];
  spec?: {
    selector?: { matchLabels: Record<string, string> };
    template?: {
      metadata: { annotations: Record<string, string>; labels: Record<string, string> };
      spec: {
        containers: Container[];
        volumes: { name: string; secret?: { secretName: string } }[];
        topologySpreadConstraints?: { topologyKey: string }[];
        securityContext?: object;
      };
    };
    tls?: object[];
    rules?: object[];
    groups?: object[];
  };
}
interface Container {
  image: string;
  volumeMounts: { mountPath: string }[];
  env: { name: string; value?: string; valueFrom?: unknown }[];
  securityContext: { capabilities?: { drop: string[]; add: string[] } };
}
async function objects(...words: string[]): Promise<Map<string, Rendered>> {
  const documents = parseAllDocuments(await render(...words)).map((each) => each.toJS() as Rendered);
  return new Map(documents.map((each) => [`${each.kind} ${each.metadata.name}`, each]));
}

const settingsOf = (made: Map<string, Rendered>, name: string) =>
  parse(made.get(`Secret ${name}-settings`)!.stringData!['muster.yaml']!) as {
    ui?: { baseUrl: string };
    http: { allowedHosts: string[] };
    auth: { enabled: boolean };
    cluster?: { kubernetes: { agents: { secretFile: string } } };
    logFolder?: object;
  };

/** The chart leaves the namespace to Helm. */
const namespace = `# Namespace, account and rights of the schedulers. This file and those beside it are what deploy/helm/muster makes of its values.
apiVersion: v1
kind: Namespace
metadata:
  name: muster
`;

describe.skipIf(labBinaries === undefined)('the chart', () => {
  /** `npm run test:kubernetes -- test/kubernetes/install/chart.test.ts -u` writes them anew. */
  test.each(['rbac', 'scheduler', 'slaves'])(
    'deploy/kubernetes/%s.yaml is what it makes of its values',
    async (name) => {
      const path = `deploy/kubernetes/${name}.yaml`;
      // Without a cluster to look at it would make another secret each time.
      const words = ['--show-only', `templates/${name}.yaml`, '--set', 'agent.secret.name=muster-agents'];
      const made = (await render(...words)).replaceAll(/^# Source: .*\n/gm, '');
      const whole = name === 'rbac' ? `${namespace}${made}` : made.replace(/^---\n/, '');
      const formatted = await format(whole, { ...(await resolveConfig(path)), filepath: path });
      await expect(formatted).toMatchFileSnapshot(join('../../..', path));
    },
  );

  test.each([
    ['replicas=many', 'replicas'],
    ['replica=2', 'replica'],
    ['image.repository=', 'repository'],
    ['database.url=mysql://host/muster', 'url'],
    ['service.type=ExternalName', 'type'],
    ['settings.cluster.kubernetes.installation=Muster', 'installation'],
    ['agent.folder=files', 'folder'],
    ['agent.hostPort=70000', 'hostPort'],
    ['ingress.enabled=true', 'host'],
    ['ingress.enabled=true,ingress.host=Muster', 'host'],
    ['ingress.host.name=x', 'host'],
    ['networkPolicy.from=all', 'from'],
    ['monitoring.serviceMonitor.interval=often', 'interval'],
    ['podDisruptionBudget.minAvailable=1', 'minAvailable'],
    ['agent.secret.nam=own', 'nam'],
    // It is what the values of the agents say.
    ['settings.cluster.kubernetes.agents.secretFile=/etc/own', 'agents'],
    // Its rights are for the namespace of the release.
    ['settings.cluster.kubernetes.namespace=elsewhere', 'namespace'],
  ])('%s is refused', async (given, named) => {
    await expect(render('--set', given)).rejects.toThrow(named);
  });

  test('a URL of a database becomes a secret that the schedulers read', async () => {
    const made = await objects('--set', 'database.url=postgres://u:p@db/muster,database.secret.name=own');
    expect(made.get('Secret own')!.stringData).toEqual({ url: 'postgres://u:p@db/muster' });
    const [{ env }] = made.get('Deployment muster')!.spec!.template!.spec.containers as [Container];
    expect(env.find(({ name }) => name === 'DATABASE_URL')!.valueFrom).toEqual({
      secretKeyRef: { name: 'own', key: 'url' },
    });
  });

  test('another installation has another lease, and agents of its own', async () => {
    const made = await objects('--set', 'settings.cluster.kubernetes.installation=second');
    const names = made.get('Role muster')!.rules!.flatMap(({ resourceNames = [] }) => resourceNames);
    expect(names).toEqual(['second-leader']);
    expect(made.get('DaemonSet muster-agent')!.spec!.template!.metadata.labels['muster/agent']).toBe('second');
    expect(parse(made.get('Secret muster-agent-settings')!.stringData!['agent.yaml']!)).toMatchObject({
      installation: 'second',
      root: '/var/lib/muster/second',
    });
  });

  test('schedulers and agents share a secret, which the chart makes or which is there', async () => {
    const secretOf = (made: Map<string, Rendered>, what: string) =>
      made.get(what)!.spec!.template!.spec.volumes.flatMap(({ secret }) => secret ?? []);
    const own = await objects();
    expect(Buffer.from(own.get('Secret muster-agents')!.data!['agent']!, 'base64').toString()).toMatch(/^\w{64}$/);
    const given = await objects('--set', 'agent.secret.name=shared,agent.secret.key=text');
    expect(given.has('Secret muster-agents')).toBe(false);
    const items = [{ key: 'text', path: 'agent' }];
    for (const what of ['Deployment muster', 'DaemonSet muster-agent'])
      expect(secretOf(given, what)).toContainEqual({ secretName: 'shared', items });
    const { agents } = settingsOf(given, 'muster').cluster!.kubernetes;
    const mounts = given.get('Deployment muster')!.spec!.template!.spec.containers[0]!.volumeMounts;
    expect(mounts.map(({ mountPath }) => join(mountPath, 'agent'))).toContain(agents.secretFile);
  });

  test('settings of agents make other pods of them, and none can take what the chart says', async () => {
    const sumOf = (made: Map<string, Rendered>) =>
      made.get('DaemonSet muster-agent')!.spec!.template!.metadata.annotations['checksum/settings'];
    const given = await objects('--set', 'agent.settings.logMegabytes=5,agent.settings.root=/');
    expect(parse(given.get('Secret muster-agent-settings')!.stringData!['agent.yaml']!)).toMatchObject({
      logMegabytes: 5,
      root: '/var/lib/muster/muster',
    });
    expect(sumOf(given)).not.toBe(sumOf(await objects()));
  });

  test('logs go to the store of the settings, or to a volume that schedulers only read', async () => {
    const ofAgents = (made: Map<string, Rendered>) =>
      PodAgentSettings.parse(parse(made.get('Secret muster-agent-settings')!.stringData!['agent.yaml']!));
    const podOf = (made: Map<string, Rendered>, what: string) => made.get(what)!.spec!.template!.spec;
    const volume = (made: Map<string, Rendered>, what: string) =>
      [podOf(made, what).volumes, podOf(made, what).containers[0]!.volumeMounts].map((all) =>
        all.find((each) => 'name' in each && each.name === 'logs'),
      );
    const claimed = await objects('--set', 'logs.claim=shared,settings.logFolder.keepDays=5');
    const directory = '/var/lib/muster-logs';
    expect(settingsOf(claimed, 'muster').logFolder).toEqual({ directory, keepDays: 5 });
    expect(ofAgents(claimed).logFolder).toMatchObject({ directory, keepDays: 5, group: 1_000 });
    expect(volume(claimed, 'Deployment muster')).toEqual([
      { name: 'logs', persistentVolumeClaim: { claimName: 'shared', readOnly: true } },
      { name: 'logs', mountPath: directory, readOnly: true },
    ]);
    expect(volume(claimed, 'DaemonSet muster-agent')).toEqual([
      { name: 'logs', persistentVolumeClaim: { claimName: 'shared' } },
      { name: 'logs', mountPath: directory },
    ]);
    // Without FSETID, the directory of logs passes its group on only if the agent is in it.
    expect(podOf(claimed, 'DaemonSet muster-agent').securityContext).toEqual({ supplementalGroups: [1_000] });
    const keys = 'settings.objstore.objstoreAccessKey=a,settings.objstore.objstoreSecretKey=b';
    const stored = await objects('--set', `settings.objstore.objstoreBucket=logs,${keys}`);
    expect(ofAgents(stored).objstore).toMatchObject({ objstoreAccessKey: 'a', objstoreSecretKey: 'b' });
    expect(volume(stored, 'DaemonSet muster-agent')).toEqual([undefined, undefined]);
    const given = await objects('--set', 'agent.env[0].name=AWS_ACCESS_KEY_ID,agent.env[0].value=a');
    expect(podOf(given, 'DaemonSet muster-agent').containers[0]!.env).toContainEqual({
      name: 'AWS_ACCESS_KEY_ID',
      value: 'a',
    });
  });

  test('without agents there is nothing of them', async () => {
    const made = await objects('--set', 'agent.enabled=false');
    expect([...made.keys()].filter((name) => name.includes('agent'))).toEqual([]);
    expect(settingsOf(made, 'muster').cluster).toBeUndefined();
    const { volumes } = made.get('Deployment muster')!.spec!.template!.spec;
    expect(volumes.map(({ name }) => name)).toEqual(['settings', 'data', 'temporary']);
  });

  test('names of an ingress stand beside those of the service, and other settings make other pods', async () => {
    const given = await objects('--set', 'settings.http.allowedHosts={muster.example.com},nameOverride=jobs');
    const settings = settingsOf(given, 'jobs');
    expect(settings.auth.enabled).toBe(true);
    const { allowedHosts } = settings.http;
    expect(allowedHosts).toContain('muster.example.com');
    expect(allowedHosts).toContain('jobs.muster.svc');
    const sum = (made: Map<string, Rendered>, name: string) =>
      made.get(`Deployment ${name}`)!.spec!.template!.metadata.annotations['checksum/settings'];
    expect(sum(given, 'jobs')).not.toBe(sum(await objects(), 'muster'));
  });

  test('agents have the rights that they need, and all of them only where the values say so', async () => {
    const securityOf = async (...words: string[]) =>
      (await objects(...words)).get('DaemonSet muster-agent')!.spec!.template!.spec.containers[0]!.securityContext;
    const named = await securityOf();
    expect(named).toMatchObject({
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
      seccompProfile: { type: 'RuntimeDefault' },
      appArmorProfile: { type: 'Unconfined' },
    });
    expect(named).not.toHaveProperty('privileged');
    // The page tells what each is for.
    const page = readFileSync('docs/kubernetes.md', 'utf8')
      .split('**Rights of its pod**')[1]!
      .split('\n\n`SYS_ADMIN`')[0]!;
    for (const capability of named.capabilities!.add) expect(page).toContain(`\`${capability}\``);
    const all = await securityOf('--set', 'agent.privileged=true');
    expect(all).toEqual({ runAsUser: 0, privileged: true, readOnlyRootFilesystem: true });
    const before = await objects('--kube-version', '1.29.0');
    const { metadata, spec } = before.get('DaemonSet muster-agent')!.spec!.template!;
    expect(spec.containers[0]!.securityContext).not.toHaveProperty('appArmorProfile');
    expect(metadata.annotations['container.apparmor.security.beta.kubernetes.io/agent']).toBe('unconfined');
  });

  test('an ingress has TLS, and its host is one that the schedulers answer', async () => {
    const made = await objects('--set', 'ingress.enabled=true,ingress.host=muster.example.com');
    const { tls, rules } = made.get('Ingress muster')!.spec!;
    expect(tls).toEqual([{ hosts: ['muster.example.com'], secretName: 'muster-tls' }]);
    const service = { name: 'muster', port: { name: 'http' } };
    const path = { path: '/', pathType: 'Prefix', backend: { service } };
    expect(rules).toEqual([{ host: 'muster.example.com', http: { paths: [path] } }]);
    expect(settingsOf(made, 'muster').http.allowedHosts).toContain('muster.example.com');
    expect(settingsOf(made, 'muster').ui?.baseUrl).toBe('https://muster.example.com');
    const given = await objects(
      '--set',
      'ingress.enabled=true,ingress.host=muster.example.com,settings.http.contextPath=/jobs',
    );
    expect(settingsOf(given, 'muster').ui?.baseUrl).toBe('https://muster.example.com/jobs');
    const without = await objects('--set', 'ingress.host=muster.example.com');
    expect(settingsOf(without, 'muster')).not.toHaveProperty('ui');
    expect(without.has('Ingress muster')).toBe(false);
    expect(settingsOf(without, 'muster').http.allowedHosts).not.toContain('muster.example.com');
  });

  test('schedulers are spread over hosts and zones, and drained one at a time', async () => {
    const made = await objects();
    const { matchLabels } = made.get('Deployment muster')!.spec!.selector!;
    expect(made.get('PodDisruptionBudget muster')!.spec).toEqual({ maxUnavailable: 1, selector: { matchLabels } });
    const spread = made.get('Deployment muster')!.spec!.template!.spec.topologySpreadConstraints!;
    expect(spread.map(({ topologyKey }) => topologyKey)).toEqual([
      'kubernetes.io/hostname',
      'topology.kubernetes.io/zone',
    ]);
    const none = await objects('--set', 'podDisruptionBudget.enabled=false,topologySpread=null');
    expect(none.has('PodDisruptionBudget muster')).toBe(false);
    expect(none.get('Deployment muster')!.spec!.template!.spec).not.toHaveProperty('topologySpreadConstraints');
  });

  test('its alerts are those of the examples', async () => {
    await expect(readFileSync('examples/monitoring/alerts.yml', 'utf8')).toMatchFileSnapshot(
      join('../../..', 'deploy/helm/muster/alerts.yml'),
    );
    const { groups } = parse(readFileSync('examples/monitoring/alerts.yml', 'utf8')) as { groups: object[] };
    const made = await objects('--set', 'monitoring.alerts.enabled=true');
    expect(made.get('PrometheusRule muster')!.spec!.groups).toEqual(groups);
  });

  test('helm finds nothing wrong with it', async () => {
    const words = ['lint', '--strict', 'deploy/helm/muster', '--kube-version', kubeVersion];
    const { stdout } = await promisify(execFile)(join(labBinaries!, 'helm'), words);
    expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
  });

  describe('in front of an API server', () => {
    let lab: Lab;
    beforeAll(async () => {
      lab = await Lab.start({ nodes: 0, isBare: true });
      for (const name of readdirSync(join(labBinaries!, 'definitions')))
        await lab.apply(readFileSync(join(labBinaries!, 'definitions', name), 'utf8'));
      const kinds = ['servicemonitors', 'prometheusrules'];
      for (const kind of kinds)
        await waitFor(`the API of ${kind}`, () =>
          lab.api.call(`/apis/monitoring.coreos.com/v1/namespaces/muster/${kind}`).then(() => true),
        );
    }, 120_000);
    afterAll(() => lab?.stop());

    const all = [
      'ingress.enabled=true,ingress.host=muster.example.com,ingress.className=nginx',
      'networkPolicy.enabled=true,networkPolicy.from[0].namespaceSelector.matchLabels.name=ingress',
      'networkPolicy.egress[0].ports[0].port=5432',
      'monitoring.serviceMonitor.enabled=true,monitoring.serviceMonitor.labels.release=prometheus',
      'monitoring.serviceMonitor.tokenSecret.name=token,monitoring.alerts.enabled=true',
      'agent.hostPort=7098,database.url=postgres://u:p@db/muster,priorityClassName=system-cluster-critical',
    ].join(',');

    test.each([
      ['the values that it has', 'replicas=2'],
      ['everything that it can make', all],
      ['no agents', 'agent.enabled=false'],
    ])('what it makes of %s is taken whole, without unknown fields', async (_what, values) => {
      const folder = mkdtempSync(join(tmpdir(), 'muster-chart-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'made.yaml');
      writeFileSync(file, await render('--set', values));
      // The namespace and its account are those of the lab already.
      const words = [
        'apply',
        '--server-side',
        '--force-conflicts',
        '--dry-run=server',
        '--validate=strict',
        '-f',
        file,
      ];
      const { stdout } = await promisify(execFile)(join(labBinaries!, 'kubectl'), [
        '--kubeconfig',
        lab.adminConfig,
        ...words,
      ]);
      const kinds = [...(await objects('--set', values)).keys()];
      expect(stdout.trim().split('\n')).toHaveLength(kinds.length);
    });
  });
});

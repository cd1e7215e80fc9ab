import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { labBinaries } from '../lab/lab.js';

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
    template?: {
      metadata: { annotations: Record<string, string>; labels: Record<string, string> };
      spec: { containers: Container[]; volumes: { name: string; secret?: { secretName: string } }[] };
    };
  };
}
interface Container {
  image: string;
  volumeMounts: { mountPath: string }[];
  env: { name: string; value?: string; valueFrom?: unknown }[];
}
async function objects(...words: string[]): Promise<Map<string, Rendered>> {
  const documents = parseAllDocuments(await render(...words)).map((each) => each.toJS() as Rendered);
  return new Map(documents.map((each) => [`${each.kind} ${each.metadata.name}`, each]));
}

const settingsOf = (made: Map<string, Rendered>, name: string) =>
  parse(made.get(`Secret ${name}-settings`)!.stringData!['muster.yaml']!) as {
    http: { allowedHosts: string[] };
    auth: { enabled: boolean };
    cluster?: { kubernetes: { agents: { secretFile: string } } };
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
    expect(parse(made.get('ConfigMap muster-agent')!.data!['agent.yaml']!)).toMatchObject({
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
    expect(parse(given.get('ConfigMap muster-agent')!.data!['agent.yaml']!)).toMatchObject({
      logMegabytes: 5,
      root: '/var/lib/muster/muster',
    });
    expect(sumOf(given)).not.toBe(sumOf(await objects()));
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
});

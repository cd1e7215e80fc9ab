import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { labBinaries } from '../lab/lab.js';

const kubeVersion = '1.34.0';

/** What `helm template` prints, or why it does not. */
async function render(...words: string[]): Promise<string> {
  const chart = ['template', 'muster', 'deploy/helm/muster', '--namespace', 'muster', '--kube-version', kubeVersion];
  return (await promisify(execFile)(join(labBinaries!, 'helm'), [...chart, ...words])).stdout;
}

interface Rendered {
  kind: string;
  metadata: { name: string };
  stringData?: Record<string, string>;
  rules?: { resourceNames?: string[] }[];
  spec?: { template?: { metadata: { annotations: Record<string, string> }; spec: { containers: Container[] } } };
}
interface Container {
  image: string;
  env: { name: string; value?: string; valueFrom?: unknown }[];
}
async function objects(...words: string[]): Promise<Map<string, Rendered>> {
  const documents = parseAllDocuments(await render(...words)).map((each) => each.toJS() as Rendered);
  return new Map(documents.map((each) => [`${each.kind} ${each.metadata.name}`, each]));
}

/** The chart leaves the namespace to Helm. */
const namespace = `# Namespace, account and rights of the schedulers. This file and those beside it are what deploy/helm/muster makes of its values.
apiVersion: v1
kind: Namespace
metadata:
  name: muster
`;

describe.skipIf(labBinaries === undefined)('the chart', () => {
  /** `npm run test:kubernetes -- test/kubernetes/install/chart.test.ts -u` writes them anew. */
  test.each(['rbac', 'scheduler'])('deploy/kubernetes/%s.yaml is what it makes of its values', async (name) => {
    const path = `deploy/kubernetes/${name}.yaml`;
    const made = (await render('--show-only', `templates/${name}.yaml`)).replaceAll(/^# Source: .*\n/gm, '');
    const whole = name === 'rbac' ? `${namespace}${made}` : made.replace(/^---\n/, '');
    const formatted = await format(whole, { ...(await resolveConfig(path)), filepath: path });
    await expect(formatted).toMatchFileSnapshot(join('../../..', path));
  });

  test.each([
    ['replicas=many', 'replicas'],
    ['replica=2', 'replica'],
    ['image.repository=', 'repository'],
    ['database.url=mysql://host/muster', 'url'],
    ['service.type=ExternalName', 'type'],
    ['settings.cluster.kubernetes.installation=Muster', 'installation'],
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

  test('another installation has another lease', async () => {
    const made = await objects('--set', 'settings.cluster.kubernetes.installation=second');
    const names = made.get('Role muster')!.rules!.flatMap(({ resourceNames = [] }) => resourceNames);
    expect(names).toEqual(['second-leader']);
  });

  test('names of an ingress stand beside those of the service, and other settings make other pods', async () => {
    const given = await objects('--set', 'settings.http.allowedHosts={muster.example.com},nameOverride=jobs');
    const settings = parse(given.get('Secret jobs-settings')!.stringData!['muster.yaml']!) as {
      http: { allowedHosts: string[] };
      auth: { enabled: boolean };
    };
    expect(settings.auth.enabled).toBe(true);
    const { allowedHosts } = settings.http;
    expect(allowedHosts).toContain('muster.example.com');
    expect(allowedHosts).toContain('jobs.muster.svc');
    const sum = (made: Map<string, Rendered>, name: string) =>
      made.get(`Deployment ${name}`)!.spec!.template!.metadata.annotations['checksum/settings'];
    expect(sum(given, 'jobs')).not.toBe(sum(await objects(), 'muster'));
  });
});

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { agentLabel } from '../../../src/cluster/kubernetes/names.js';
import { isReady, type KubernetesList, type Pod } from '../../../src/cluster/kubernetes/objects.js';
import { waitFor } from '../../support/wait-for.js';
import { testImage } from './image.js';
import type { Lab } from './lab.js';

/** Programs of this machine that the program of agents needs in the image. */
export const agentPrograms: readonly string[] = [
  process.execPath,
  '/usr/bin/nsenter',
  '/usr/bin/setpriv',
  ...['/usr/bin/gpg'].filter((path) => existsSync(path)),
];
const secret = 'of schedulers and agents, for tests';
const lookEveryMillis = 100;
/** Further settings of agents. `folder`: the directory of the node that they see. */
export type AgentSettings = (folder: string) => object;

/** Directory of the program in the image of the repository. */
const program = '/opt/muster';

interface Manifest {
  kind: string;
  stringData: Record<string, string>;
  spec: { template: { spec: AgentSpec } };
}
interface AgentSpec {
  containers: [
    { image: string; workingDir?: string; command: string[]; volumeMounts: { name: string; mountPath: string }[] },
  ];
  volumes: { name: string; hostPath?: { path: string } }[];
}

/**
 * The agents of `deploy/kubernetes`, as real pods of its DaemonSet, with these differences: their program is that of this repository,
 * by a volume, and each has a folder of its own, for all nodes are this machine. Nothing here schedules pods: those of DaemonSets say
 * which node they are for.
 */
export class LabAgents {
  /** Secret file in the settings of schedulers. */
  readonly secretFile: string;
  private readonly folder: string;
  private readonly stopping = new AbortController();
  /** Keeps pods that are made now without a node. */
  private isAway = false;
  private binding: Promise<void> = Promise.resolve();

  constructor(
    private readonly lab: Lab,
    private readonly path: string,
    private readonly settings: AgentSettings,
  ) {
    this.secretFile = join(lab.folder, 'agent-secret');
    this.folder = join(lab.folder, 'files');
  }

  async start(nodes: readonly string[]): Promise<void> {
    mkdirSync(this.folder);
    writeFileSync(this.secretFile, secret);
    const named = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'muster-agents' } };
    const body = { ...named, stringData: { agent: secret } };
    await this.lab.api.call(`${this.path}/secrets`, { method: 'POST', body });
    await this.lab.apply(this.manifest(nodes));
    this.binding = this.bind();
    await this.ready(nodes.length);
  }

  async stop(): Promise<void> {
    const path = '/apis/apps/v1/namespaces/muster/daemonsets/muster-agent';
    await this.lab.api.call(path, { method: 'DELETE', body: { propagationPolicy: 'Background' } });
    this.stopping.abort();
    await this.binding;
  }

  /** All of them; what is answered brings them back. */
  async takeAway(): Promise<() => Promise<void>> {
    this.isAway = true;
    const pods = await this.pods();
    for (const { metadata } of pods)
      await this.lab.api.call(`${this.path}/pods/${metadata?.name}`, { method: 'DELETE' });
    return async () => {
      this.isAway = false;
      await this.ready(pods.length);
    };
  }

  async pods(): Promise<Pod[]> {
    const query = { labelSelector: agentLabel };
    return (await this.lab.api.call<KubernetesList<Pod>>(`${this.path}/pods`, { query })).items ?? [];
  }

  private async ready(count: number): Promise<void> {
    const areReady = async () => (await this.pods()).filter(isReady).length === count;
    await waitFor('the agents to be ready', areReady, { timeoutMillis: 60_000 });
  }

  private manifest(nodes: readonly string[]): string {
    const documents = parseAllDocuments(readFileSync('deploy/kubernetes/slaves.yaml', 'utf8'));
    return documents
      .map((each) => each.toJS() as Manifest)
      .map((manifest) => {
        if (manifest.kind === 'Secret') this.divide(manifest, nodes);
        if (manifest.kind === 'DaemonSet') this.place(manifest.spec.template.spec);
        return stringify(manifest);
      })
      .join('---\n');
  }

  private divide(config: Manifest, nodes: readonly string[]): void {
    const given = parse(config.stringData['agent.yaml']!) as object;
    const settings = { ...given, ...this.settings(this.folder) };
    config.stringData = Object.fromEntries(
      nodes.map((name) => [`${name}.yaml`, stringify({ ...settings, root: join(this.folder, name) })]),
    );
  }

  private place(spec: AgentSpec): void {
    const [container] = spec.containers;
    Object.assign(container, { image: testImage, workingDir: program });
    container.command = container.command.map((word) => word.replace('/agent.yaml', '/$(NODE_NAME).yaml'));
    container.volumeMounts.push({ name: 'program', mountPath: program });
    spec.volumes.push({ name: 'program', hostPath: { path: process.cwd() } });
    container.volumeMounts.find(({ name }) => name === 'files')!.mountPath = this.folder;
    spec.volumes.find(({ name }) => name === 'files')!.hostPath!.path = this.folder;
  }

  private async bind(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      for (const pod of await this.pods().catch(() => [])) {
        if (pod.spec?.nodeName || this.isAway) continue;
        const target = { apiVersion: 'v1', kind: 'Node', name: nodeOf(pod) };
        const { name } = pod.metadata!;
        const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target };
        const path = `${this.path}/pods/${name}/binding`;
        await this.lab.api.call(path, { method: 'POST', body }).catch(() => undefined);
      }
      await delay(lookEveryMillis, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** For which the DaemonSet has made it. */
export function nodeOf(pod: Pod): string {
  const { nodeAffinity } = pod.spec!['affinity'] as {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: { matchFields: { values: string[] }[] }[];
      };
    };
  };
  return nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]!.matchFields[0]!.values[0]!;
}

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { agentLabel } from '../../../src/cluster/kubernetes/names.js';
import { isReady, type KubernetesList, type Pod } from '../../../src/cluster/kubernetes/objects.js';
import { waitFor } from '../../support/wait-for.js';
import { testImage } from './image.js';
import type { Lab } from './lab.js';
import { PodBinder } from './pod-binder.js';

/** Programs of this machine that the program of agents needs in the image. */
export const agentPrograms: readonly string[] = [
  process.execPath,
  '/usr/bin/nsenter',
  '/usr/bin/setpriv',
  ...['/usr/bin/gpg'].filter((path) => existsSync(path)),
];
const secret = 'of schedulers and agents, for tests';
/** Further settings of agents. `folder`: the directory of the node that they see. */
export type AgentSettings = (folder: string) => object;

/** Directory of the program in the image of the repository. */
const program = '/opt/muster';

interface Manifest {
  kind: string;
  stringData?: Record<string, string>;
  spec: { template: { spec: ProgramSpec } };
}
interface ProgramSpec {
  containers: [
    { image: string; workingDir?: string; command: string[]; volumeMounts: { name: string; mountPath: string }[] },
  ];
  volumes: { name: string; hostPath?: { path: string } }[];
}

interface LabPlace {
  nodes: readonly string[];
  /** Directory of the files of tasks, with one for each node. */
  folder: string;
  /** Settings of agents, over those of the manifest. */
  settings?: object;
  /** Default: that of the manifest. */
  image?: string;
}

/**
 * Manifests of schedulers and agents, with the differences that a lab needs: their program is that of this repository, by a volume, and
 * each agent has a folder of its own, for all nodes are this machine.
 */
export function placeInLab(manifests: string, place: LabPlace): string {
  return parseAllDocuments(manifests)
    .map((each) => each.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
    .map((manifest) => {
      if (manifest.stringData?.['agent.yaml'] !== undefined) divideSettings(manifest, place);
      const { spec } = manifest.spec?.template ?? {};
      if (spec) giveProgram(spec, place);
      if (spec && manifest.kind === 'DaemonSet') placeFiles(spec, place);
      return stringify(manifest);
    })
    .join('---\n');
}

function divideSettings(config: Manifest, { nodes, folder, settings }: LabPlace): void {
  const given = { ...(parse(config.stringData!['agent.yaml']!) as object), ...settings };
  config.stringData = Object.fromEntries(
    nodes.map((name) => [`${name}.yaml`, stringify({ ...given, root: join(folder, name) })]),
  );
}

function giveProgram({ containers: [container], volumes }: ProgramSpec, { image }: LabPlace): void {
  Object.assign(container, { workingDir: program, ...(image === undefined ? {} : { image }) });
  container.volumeMounts.push({ name: 'program', mountPath: program });
  volumes.push({ name: 'program', hostPath: { path: process.cwd() } });
}

function placeFiles({ containers: [container], volumes }: ProgramSpec, { folder }: LabPlace): void {
  container.command = container.command.map((word) => word.replace('/agent.yaml', '/$(NODE_NAME).yaml'));
  container.volumeMounts.find(({ name }) => name === 'files')!.mountPath = folder;
  volumes.find(({ name }) => name === 'files')!.hostPath!.path = folder;
}

/** The agents of `deploy/kubernetes`, as real pods of its DaemonSet. */
export class LabAgents {
  /** Secret file in the settings of schedulers. */
  readonly secretFile: string;
  /** On each node, with a folder for each agent. */
  readonly folder: string;
  private readonly binder: PodBinder;

  constructor(
    private readonly lab: Lab,
    private readonly path: string,
    private readonly settings: AgentSettings,
  ) {
    this.secretFile = join(lab.folder, 'agent-secret');
    this.folder = join(lab.folder, 'files');
    this.binder = new PodBinder(lab, agentLabel);
  }

  async start(nodes: readonly string[]): Promise<void> {
    mkdirSync(this.folder);
    writeFileSync(this.secretFile, secret);
    const named = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'muster-agents' } };
    const body = { ...named, stringData: { agent: secret } };
    await this.lab.api.call(`${this.path}/secrets`, { method: 'POST', body });
    const manifests = readFileSync('deploy/kubernetes/slaves.yaml', 'utf8');
    const settings = this.settings(this.folder);
    await this.lab.apply(placeInLab(manifests, { nodes, folder: this.folder, settings, image: testImage }));
    this.binder.start();
    await this.ready(nodes.length);
  }

  async stop(): Promise<void> {
    const path = '/apis/apps/v1/namespaces/muster/daemonsets/muster-agent';
    await this.lab.api.call(path, { method: 'DELETE', body: { propagationPolicy: 'Background' } });
    await this.binder.stop();
  }

  /** All of them; what is answered brings them back. */
  async takeAway(): Promise<() => Promise<void>> {
    this.binder.isHeld = true;
    const pods = await this.pods();
    for (const { metadata } of pods)
      await this.lab.api.call(`${this.path}/pods/${metadata?.name}`, { method: 'DELETE' });
    return async () => {
      this.binder.isHeld = false;
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
}

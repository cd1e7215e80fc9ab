import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { KubernetesApi } from '../../../src/cluster/kubernetes/kubernetes-api.js';
import { agentLabel } from '../../../src/cluster/kubernetes/names.js';
import type { KubernetesList, Node, Pod } from '../../../src/cluster/kubernetes/objects.js';
import { KubernetesSettings } from '../../../src/platform/settings/kubernetes-settings.js';
import { freePort } from '../../support/free-port.js';
import { waitFor } from '../../support/wait-for.js';
import { configFor, makeCertificates } from './certificates.js';
import { Daemon } from './daemon.js';
import { makeImage, pauseImage, testImage } from './image.js';
import { agentPrograms, type AgentSettings, LabAgents } from './lab-agents.js';
import { LabNode } from './lab-node.js';
import { sweep, sweptFolder } from './sweep.js';

/** Directory of the programs; undefined: `npm run test:kubernetes` did not start this. */
export const labBinaries = process.env['MUSTER_KUBERNETES_BIN'];

const adminToken = 'muster-test-admin';
/** Token of the account that `deploy/kubernetes/rbac.yaml` gives its rights. */
const schedulerToken = 'muster-test-scheduler';
const namespace = 'muster';
const podsPath = `/api/v1/namespaces/${namespace}/pods`;

interface Further {
  /** Programs of this machine, to be in the image of tasks as well. */
  programs?: readonly string[];
  /** Further names of that image. */
  imageAliases?: readonly string[];
  /** No controllers at all. */
  isBare?: boolean;
  /** Beside the usual ones of the controller manager, without `-controller` at their ends. */
  controllers?: readonly string[];
  apiServerFlags?: readonly string[];
  /** Namespaces have service accounts, and pods the tokens of theirs. */
  hasAccounts?: boolean;
  /** On each node. Without them tasks have no files but their output. */
  hasAgents?: boolean;
  /** Of agents, besides those of the manifest. */
  agentSettings?: AgentSettings;
}

/** A Kubernetes on this machine: etcd, an API server, a controller manager that sees to lost nodes, and nodes. */
export class Lab {
  readonly nodes: LabNode[] = [];
  /** Configuration of a scheduler. */
  readonly kubeconfig: string;
  /** Configuration of a client that may do everything. */
  readonly adminConfig: string;
  private readonly address = Lab.address();
  private constructor(
    private readonly bin: string,
    readonly folder: string,
    private readonly further: Required<Further>,
  ) {
    this.kubeconfig = join(folder, 'kubeconfig');
    this.adminConfig = join(folder, 'admin.kubeconfig');
  }
  private etcd!: Daemon;
  private apiServer!: Daemon;
  private controllers!: Daemon;
  agents: LabAgents | undefined;
  api!: KubernetesApi;
  apiServerPort!: number;

  /** Of this machine, which all nodes have, and which pods reach. */
  static address(): string {
    return addressOfThisMachine();
  }

  static async start({
    nodes = 1,
    programs = [],
    imageAliases = [],
    isBare = false,
    controllers = [],
    apiServerFlags = [],
    hasAccounts = false,
    hasAgents = false,
    agentSettings = () => ({}),
  }: { nodes?: number } & Further = {}): Promise<Lab> {
    await sweep();
    const further = {
      programs,
      imageAliases,
      isBare,
      controllers,
      apiServerFlags,
      hasAccounts,
      hasAgents,
      agentSettings,
    };
    const lab = new Lab(labBinaries!, sweptFolder(), further);
    try {
      await lab.startControl();
      if (nodes === 0) return lab;
      const all = [...new Set([...programs, ...(hasAgents ? agentPrograms : [])])];
      const images = [
        await makeImage(lab.folder, testImage, { command: ['/bin/sh'], programs: all, aliases: imageAliases }),
        await makeImage(lab.folder, pauseImage, { command: ['/bin/sleep', '2147483647'] }),
      ];
      for (let number = 1; number <= nodes; number++) await lab.addNode(number, images);
      if (hasAgents) await lab.addAgents();
      return lab;
    } catch (cause) {
      await lab.stop();
      throw cause;
    }
  }

  /** For who measures them. */
  get daemons(): { etcd: Daemon; 'kube-apiserver': Daemon } {
    return { etcd: this.etcd, 'kube-apiserver': this.apiServer };
  }

  program = (name: string): string => join(this.bin, name);

  settings(changes: object = {}): KubernetesSettings {
    const agents = this.agents && { secretFile: this.agents.secretFile };
    return KubernetesSettings.parse({ kubeconfig: this.kubeconfig, image: testImage, agents, ...changes });
  }

  async stopApiServer(): Promise<void> {
    await this.apiServer.stop('SIGKILL');
  }

  async startApiServer(): Promise<void> {
    this.apiServer.start();
    await this.apiServer.until('it to be ready', async () => !!(await this.api.call('/api/v1/namespaces/default')));
  }

  /** Pods and the lease of the leader: the next scheduler begins anew. */
  async clean(): Promise<void> {
    await this.removePods();
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    await this.api.call(leases, { method: 'DELETE' });
  }

  /** But for those of agents. */
  async pods(): Promise<Pod[]> {
    const query = { labelSelector: `!${agentLabel}` };
    return (await this.api.call<KubernetesList<Pod>>(podsPath, { query })).items ?? [];
  }

  /** All pods, with what keeps them, so that their nodes take them down. */
  async removePods(): Promise<void> {
    for (const { metadata } of await this.pods()) {
      const path = `${podsPath}/${metadata?.name}`;
      const bare = { metadata: { finalizers: null } };
      await this.api.call(path, { method: 'PATCH', body: bare }).catch(() => undefined);
      await this.api.call(path, { method: 'DELETE', body: { gracePeriodSeconds: 1 } }).catch(() => undefined);
    }
    await waitFor('the pods to be gone', async () => (await this.pods()).length === 0, { timeoutMillis: 30_000 });
  }

  /** A pod of others takes a port of a node. */
  async occupy({ port, node }: { port: number; node: string }): Promise<void> {
    const ports = [{ containerPort: port, hostPort: port }];
    const containers = [{ name: 'other', image: testImage, command: ['/bin/sleep', '100000'], ports }];
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `other-${port}` },
      spec: { nodeName: node, terminationGracePeriodSeconds: 1, containers },
    };
    await this.api.call('/api/v1/namespaces/default/pods', { method: 'POST', body });
  }

  async release(port: number): Promise<void> {
    const path = `/api/v1/namespaces/default/pods/other-${port}`;
    await this.api.call(path, { method: 'DELETE', body: { gracePeriodSeconds: 0 } });
  }

  async stop(): Promise<void> {
    await this.agents?.stop().catch(() => undefined);
    if (this.nodes.length > 0) await this.removePods().catch(() => undefined);
    for (const node of this.nodes) await node.stop();
    await this.controllers?.stop();
    await this.apiServer?.stop();
    await this.etcd?.stop();
    await this.api?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async isReady(name: string): Promise<boolean> {
    const node = await this.api.call<Node>(`/api/v1/nodes/${name}`);
    return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
  }

  private async addNode(number: number, images: readonly string[]): Promise<void> {
    const name = `node-${number}`;
    const folder = join(this.folder, name);
    const { bin, adminConfig: kubeconfig, address } = this;
    const certificates = join(this.folder, 'pki');
    const node = new LabNode({ name, folder, bin, certificates, kubeconfig, address, images });
    this.nodes.push(node);
    await node.start();
    await waitFor(`${name} to be ready`, () => this.isReady(name).catch(() => false), { timeoutMillis: 60_000 });
    await this.givePorts(node);
  }

  private async addAgents(): Promise<void> {
    this.agents = new LabAgents(this, `/api/v1/namespaces/${namespace}`, this.further.agentSettings);
    await this.agents.start(this.nodes.map(({ name }) => name));
  }

  /** One that was removed, and is there again, has lost them. */
  async givePorts({ name, ports }: LabNode): Promise<void> {
    const body = { metadata: { annotations: { 'muster/ports': `${ports.begin}-${ports.end}` } } };
    await this.api.call(`/api/v1/nodes/${name}`, { method: 'PATCH', body });
  }

  /** As an operator does. */
  async cordon(name: string, isCordoned: boolean): Promise<void> {
    await this.api.call(`/api/v1/nodes/${name}`, { method: 'PATCH', body: { spec: { unschedulable: isCordoned } } });
  }

  /** The object goes, with what keeps it, whatever its node does. */
  async deleteByForce({ metadata }: Pod): Promise<void> {
    const path = `${podsPath}/${metadata?.name}`;
    await this.api.call(path, { method: 'DELETE', body: { gracePeriodSeconds: 0 } });
    await this.api.call(path, { method: 'PATCH', body: { metadata: { finalizers: null } } });
  }

  private async startControl(): Promise<void> {
    const pki = join(this.folder, 'pki');
    mkdirSync(pki);
    await makeCertificates(pki, [this.address]);
    const account = `system:serviceaccount:${namespace}:muster`;
    const rows = [`${adminToken},admin,1,"system:masters"`, `${schedulerToken},${account},2,"system:serviceaccounts"`];
    writeFileSync(join(pki, 'tokens.csv'), `${rows.join('\n')}\n`);
    const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
    this.apiServerPort = port;
    const urls = { client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` };
    const log = (name: string) => join(this.folder, `${name}.log`);
    this.etcd = new Daemon(
      join(this.bin, 'etcd'),
      [
        '--name=test',
        `--data-dir=${join(this.folder, 'etcd')}`,
        `--listen-client-urls=${urls.client}`,
        `--advertise-client-urls=${urls.client}`,
        `--listen-peer-urls=${urls.peer}`,
        `--initial-advertise-peer-urls=${urls.peer}`,
        `--initial-cluster=test=${urls.peer}`,
        '--unsafe-no-fsync',
      ],
      log('etcd'),
    );
    this.apiServer = new Daemon(
      join(this.bin, 'kube-apiserver'),
      [
        `--etcd-servers=${urls.client}`,
        `--secure-port=${port}`,
        '--bind-address=127.0.0.1',
        `--advertise-address=${this.address}`,
        '--endpoint-reconciler-type=none',
        `--tls-cert-file=${pki}/apiserver.crt`,
        `--tls-private-key-file=${pki}/apiserver.key`,
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${pki}/sa.pub`,
        `--service-account-signing-key-file=${pki}/sa.key`,
        `--token-auth-file=${pki}/tokens.csv`,
        `--client-ca-file=${pki}/ca.crt`,
        '--anonymous-auth=false',
        '--authorization-mode=RBAC',
        '--allow-privileged=true',
        '--service-cluster-ip-range=10.96.0.0/24',
        // Nothing here makes the accounts of namespaces.
        ...(this.further.hasAccounts ? [] : ['--disable-admission-plugins=ServiceAccount']),
        `--kubelet-client-certificate=${pki}/kubelet-client.crt`,
        `--kubelet-client-key=${pki}/kubelet-client.key`,
        `--kubelet-certificate-authority=${pki}/ca.crt`,
        '--kubelet-preferred-address-types=InternalIP',
        ...this.further.apiServerFlags,
      ],
      log('apiserver'),
    );
    const server = `https://127.0.0.1:${port}`;
    writeFileSync(this.adminConfig, configFor({ server, authority: `${pki}/ca.crt`, token: adminToken, namespace }));
    writeFileSync(this.kubeconfig, configFor({ server, authority: `${pki}/ca.crt`, token: schedulerToken, namespace }));
    this.api = await KubernetesApi.open(this.settings({ kubeconfig: this.adminConfig, callTimeoutMillis: 60_000 }));
    this.etcd.start();
    await this.startApiServer();
    await this.apply(readFileSync('deploy/kubernetes/rbac.yaml', 'utf8'));
    if (this.further.isBare) return;
    const usual = ['node-lifecycle', 'taint-eviction', 'pod-garbage-collector', 'namespace'];
    const { controllers, hasAccounts, hasAgents } = this.further;
    const forAccounts = ['serviceaccount', 'root-ca-certificate-publisher'];
    const wanted = [...usual, ...controllers, ...(hasAgents ? ['daemonset'] : []), ...(hasAccounts ? forAccounts : [])];
    this.controllers = new Daemon(
      join(this.bin, 'kube-controller-manager'),
      [
        `--kubeconfig=${this.adminConfig}`,
        '--secure-port=0',
        '--leader-elect=false',
        `--controllers=${wanted.map((name) => `${name}-controller`).join(',')}`,
        '--node-monitor-period=1s',
        '--node-monitor-grace-period=8s',
        `--root-ca-file=${pki}/ca.crt`,
      ],
      log('controllers'),
    );
    this.controllers.start();
    if (!hasAccounts) return;
    for (const each of ['default', namespace])
      await this.controllers.until(`the account of ${each}`, async () =>
        Boolean(await this.api.call(`/api/v1/namespaces/${each}/serviceaccounts/default`)),
      );
  }

  /** Makes the objects of a manifest. */
  async apply(manifest: string): Promise<void> {
    for (const document of parseAllDocuments(manifest)) {
      const object = document.toJS() as { apiVersion: string; kind: string; metadata: { namespace?: string } };
      const group = object.apiVersion === 'v1' ? '/api/v1' : `/apis/${object.apiVersion}`;
      const within = object.metadata.namespace === undefined ? '' : `/namespaces/${object.metadata.namespace}`;
      await this.api.call(`${group}${within}/${pluralOf(object.kind)}`, { method: 'POST', body: object });
    }
  }
}

/** As in paths of the API server. */
const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');

/** Kubelets take no loopback address for theirs. */
function addressOfThisMachine(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (!found) throw new Error('This machine has no address but that of loopback');
  return found.address;
}

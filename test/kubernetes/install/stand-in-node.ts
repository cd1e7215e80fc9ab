import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { outputOf } from '../lab/daemon.js';
import type { Lab } from '../lab/lab.js';
import { freePort } from '../../support/free-port.js';
import { spawnNode, type TestProcess } from '../../support/spawn.js';
import type { KubernetesList, Pod } from '../../../src/cluster/kubernetes/objects.js';

export const nodeName = 'stand-in';
const lookEveryMillis = 200;

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string }; fieldRef?: { fieldPath: string } };
}
interface SchedulerContainer {
  command: string[];
  env: Variable[];
  readinessProbe: { httpGet: { path: string } };
  volumeMounts: { name: string; mountPath: string }[];
}
interface SchedulerSpec {
  serviceAccountName: string;
  containers: [SchedulerContainer];
  volumes: { name: string; secret?: { secretName: string; items?: [{ key: string }] } }[];
}
interface AgentSpec {
  containers: [{ command: string[]; ports: [{ containerPort: number }] }];
  volumes: { name: string; secret?: { secretName: string; items?: [{ key: string }] } }[];
}
interface PlayedAgent {
  process: TestProcess;
  address: string;
  port: number;
}
interface Played {
  process: TestProcess;
  env: Record<string, string>;
  port: number;
  isReady: boolean;
}

/**
 * A node without a kubelet: in place of the containers of schedulers, and of the agent, it runs their commands as processes of this
 * machine, with the variables, files and rights that their pods say, and says which are ready. Tasks it only calls running.
 */
export class StandInNode {
  /** In that of the lab, so that what is left of a test that was killed is found. */
  readonly folder: string;
  private readonly played = new Map<string, Played>();
  private readonly agents = new Map<string, PlayedAgent>();
  private readonly stopping = new AbortController();
  private running: Promise<unknown> = Promise.resolve();
  private count = 0;
  /** Port of the first scheduler. */
  readonly firstPort: Promise<number>;

  constructor(
    private readonly lab: Lab,
    private readonly namespace: string,
  ) {
    this.folder = join(lab.folder, 'stand-in');
    mkdirSync(this.folder);
    this.firstPort = freePort();
  }

  async start(): Promise<void> {
    const metadata = { name: nodeName };
    await this.lab.api.call('/api/v1/nodes', { method: 'POST', body: { apiVersion: 'v1', kind: 'Node', metadata } });
    await this.beat();
    this.running = Promise.all([this.every(2_000, () => this.beat()), this.every(lookEveryMillis, () => this.look())]);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
    for (const { process } of [...this.played.values(), ...this.agents.values()]) await process.kill();
  }

  ready(): Played[] {
    return [...this.played.values()].filter(({ isReady }) => isReady);
  }

  /** Output of the schedulers, for a test that fails. */
  output = (): string =>
    [...this.played.values()].map(({ process }) => process.lines.slice(-20).join('\n')).join('\n\n');

  private async every(millis: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await work().catch(() => undefined);
      await delay(millis, undefined, { signal }).catch(() => undefined);
    }
  }

  private async beat(): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const room = { cpu: '8', memory: '16Gi', pods: '110', 'ephemeral-storage': '50Gi' };
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now };
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const body = { status: { capacity: room, allocatable: room, addresses, conditions: [ready] } };
    await this.lab.api.call(`/api/v1/nodes/${nodeName}/status`, { method: 'PATCH', body });
  }

  private async look(): Promise<void> {
    const list = await this.lab.api.call<KubernetesList<Pod>>(`/api/v1/namespaces/${this.namespace}/pods`);
    const items = list.items ?? [];
    for (const name of [...this.played.keys(), ...this.agents.keys()])
      if (!items.some(({ metadata }) => metadata?.name === name)) await this.end(name);
    for (const pod of items) {
      const part = pod.metadata?.labels?.['app.kubernetes.io/name'];
      if (part === 'muster') await this.playScheduler(pod);
      // Whatever becomes of it, the others are played.
      else if (part === 'muster-agent') await this.playAgent(pod).catch(() => undefined);
      else await this.playTask(pod);
    }
  }

  private async playAgent(pod: Pod): Promise<void> {
    const name = pod.metadata!.name!;
    if (pod.metadata?.deletionTimestamp) {
      await this.end(name);
      return this.remove(pod);
    }
    if (!pod.spec?.nodeName) await this.bind(pod);
    const agent = this.agents.get(name) ?? (await this.beginAgent(name, pod.spec as unknown as AgentSpec));
    if (pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
    await this.say(pod, await listens(agent), agent.address);
  }

  private async beginAgent(name: string, spec: AgentSpec): Promise<PlayedAgent> {
    const [{ command, ports }] = spec.containers;
    const folder = join(this.folder, name);
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const secretOf = (volume: string) => spec.volumes.find(({ name: each }) => each === volume)!.secret!;
    const { secretName, items } = secretOf('secret');
    const settings = await this.secret(secretOf('settings').secretName, 'agent.yaml');
    // An address of its own, as a pod has.
    const address = `127.${process.pid % 250}.${this.count % 250}.${++this.count % 250}`;
    const secretFile = join(folder, 'secret');
    writeFileSync(secretFile, await this.secret(secretName, items![0].key));
    const own = { host: address, root: join(folder, 'files'), podLogs: join(folder, 'logs'), secretFile };
    const config = join(folder, 'agent.yaml');
    writeFileSync(config, stringify({ ...(parse(settings) as object), ...own }));
    const words = command.slice(1).map((word) => (word.endsWith('.yaml') ? config : word));
    const started = spawnNode(
      words.map((word) => word.replace('$(NODE_NAME)', nodeName)),
      {},
    );
    const agent = { process: started, address, port: ports[0].containerPort };
    this.agents.set(name, agent);
    return agent;
  }

  private async bind(pod: Pod): Promise<void> {
    const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
    const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod.metadata!.name }, target };
    await this.lab.api.call(`${this.path(pod)}/binding`, { method: 'POST', body });
  }

  private async playTask(pod: Pod): Promise<void> {
    if (pod.metadata?.deletionTimestamp) return this.remove(pod);
    if (pod.spec?.nodeName === nodeName && pod.status?.phase !== 'Running') await this.say(pod, true);
  }

  private async playScheduler(pod: Pod): Promise<void> {
    const name = pod.metadata!.name!;
    if (pod.metadata?.deletionTimestamp) {
      await this.end(name);
      return this.remove(pod);
    }
    if (!pod.spec?.nodeName) await this.bind(pod);
    const played = this.played.get(name) ?? (await this.begin(name, pod.spec as unknown as SchedulerSpec));
    const { path } = (pod.spec as unknown as SchedulerSpec).containers[0].readinessProbe.httpGet;
    const isReady = await fetch(`http://127.0.0.1:${played.port}${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady !== played.isReady) await this.say(pod, isReady);
    played.isReady = isReady;
  }

  private async begin(name: string, spec: SchedulerSpec): Promise<Played> {
    const [container] = spec.containers;
    const port = this.played.size === 0 ? await this.firstPort : await freePort();
    const env: Record<string, string> = {};
    for (const { name: key, value, valueFrom } of container.env)
      env[key] = value?.replaceAll(/\$\((\w+)\)/g, (_, other: string) => env[other]!) ?? (await this.given(valueFrom!));
    // What a container has to itself is shared here.
    const folder = join(this.folder, name);
    mkdirSync(join(folder, 'data'), { recursive: true });
    const mount = container.volumeMounts.find(({ mountPath }) => env['MUSTER_CONFIG']!.startsWith(`${mountPath}/`))!;
    const { secretName } = spec.volumes.find((volume) => volume.name === mount.name)!.secret!;
    env['MUSTER_CONFIG'] = join(folder, env['MUSTER_CONFIG']!.slice(mount.mountPath.length));
    writeFileSync(env['MUSTER_CONFIG'], await this.settings(spec, secretName, folder));
    env['MUSTER_DATA_DIR'] = join(folder, 'data');
    env['MUSTER_PORT'] = String(port);
    env['KUBECONFIG'] = await kubeconfigOf(this.lab, this.namespace, spec.serviceAccountName, folder);
    const exported = Object.entries(env).map(([key, value]) => `export ${key}='${value}'`);
    writeFileSync(join(this.folder, 'exec.env'), exported.join('\n'));
    const played = { process: spawnNode(container.command.slice(1), env), env, port, isReady: false };
    this.played.set(name, played);
    return played;
  }

  private async given({ secretKeyRef, fieldRef }: NonNullable<Variable['valueFrom']>): Promise<string> {
    if (secretKeyRef) return this.secret(secretKeyRef.name, secretKeyRef.key);
    throw new Error(`Not known here: ${fieldRef?.fieldPath}`);
  }

  private async secret(name: string, key: string): Promise<string> {
    const path = `/api/v1/namespaces/${this.namespace}/secrets/${name}`;
    const { data } = await this.lab.api.call<{ data: Record<string, string> }>(path);
    return Buffer.from(data[key]!, 'base64').toString();
  }

  /** With the secret of the agents where the pod has it. */
  private async settings(spec: SchedulerSpec, secretName: string, folder: string): Promise<string> {
    const settings = await this.secret(secretName, 'muster.yaml');
    const agents = spec.volumes.find(({ name }) => name === 'agents')?.secret;
    if (!agents) return settings;
    const path = join(folder, 'agents');
    writeFileSync(path, await this.secret(agents.secretName, agents.items![0].key));
    return settings.replace('/etc/muster-secret/agent', path);
  }

  private async end(name: string): Promise<void> {
    await (this.played.get(name) ?? this.agents.get(name))?.process.kill('SIGTERM');
    this.played.delete(name);
    this.agents.delete(name);
  }

  private async say(pod: Pod, isReady: boolean, podIP = '127.0.0.1'): Promise<void> {
    const startedAt = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const { image, name } = pod.spec!.containers![0] as { image: string; name: string };
    const container = {
      name,
      image,
      imageID: image,
      ready: isReady,
      restartCount: 0,
      state: { running: { startedAt } },
    };
    const conditions = [{ type: 'Ready', status: isReady ? 'True' : 'False' }];
    const status = { phase: 'Running', podIP, conditions, containerStatuses: [container] };
    await this.lab.api.call(`${this.path(pod)}/status`, { method: 'PATCH', body: { status } });
  }

  private async remove(pod: Pod): Promise<void> {
    const ended = { terminated: { exitCode: 143, reason: 'Error' } };
    const { image, name } = pod.spec!.containers![0] as { image: string; name: string };
    const container = { name, image, imageID: image, ready: false, restartCount: 0, state: ended };
    const body = { status: { phase: 'Failed', containerStatuses: [container] } };
    await this.lab.api.call(`${this.path(pod)}/status`, { method: 'PATCH', body });
    await this.lab.api.call(this.path(pod), { method: 'DELETE', body: { gracePeriodSeconds: 0 } });
  }

  private path = ({ metadata }: Pod): string => `/api/v1/namespaces/${this.namespace}/pods/${metadata?.name}`;
}

const listens = ({ address, port }: PlayedAgent): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, address);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/** As of a pod with that account: its token is one that the API server gives. */
export async function kubeconfigOf(lab: Lab, namespace: string, account: string, folder: string): Promise<string> {
  const words = ['--kubeconfig', lab.adminConfig, '-n', namespace, 'create', 'token', account];
  const token = (await outputOf(lab.program('kubectl'), ...words)).trim();
  const config = parse(readFileSync(lab.adminConfig, 'utf8')) as { users: [{ user: { token: string } }] };
  config.users[0].user.token = token;
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, stringify(config), { mode: 0o600 });
  return path;
}

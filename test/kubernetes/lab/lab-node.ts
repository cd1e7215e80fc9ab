import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { killNow } from '../../e2e/support/processes.js';
import { freePort } from '../../support/free-port.js';
import { Daemon, tried } from './daemon.js';
import { pauseImage } from './image.js';

interface LabNodeOptions {
  name: string;
  /** Directory of its own. */
  folder: string;
  bin: string;
  certificates: string;
  kubeconfig: string;
  address: string;
  images: readonly string[];
}

const controllers = (): string[] =>
  readdirSync('/sys/fs/cgroup').filter((name) => existsSync(`/sys/fs/cgroup/${name}/tasks`));
const groupOf = (number: number): string => `muster-lab-${number}`;
const groupsOf = (number: number): string[] => {
  const roots = controllers().map((name) => `/sys/fs/cgroup/${name}`);
  return (roots.length > 0 ? roots : ['/sys/fs/cgroup']).map((root) => join(root, groupOf(number)));
};

/** A number that no other node on this machine has, whoever started it: its control group, which is made here, is the claim. */
function claimNumber(): number {
  for (let number = 1; number <= 90; number++) {
    try {
      mkdirSync(groupsOf(number)[0]!);
      return number;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    }
  }
  throw new Error('Too many nodes, or what is left of them, on this machine');
}

const bridgeOf = (number: number): string => `mustest${number}`;
const numberFile = 'number';

/** Takes away what is left of the node of this folder when its own programs have ended, in whatever way. */
export async function removeTraces(folder: string): Promise<void> {
  if (!existsSync(join(folder, numberFile))) return;
  const number = Number(readFileSync(join(folder, numberFile), 'utf8'));
  // The kubelet makes one in each hierarchy, without controllers, too.
  const groups = ['', ...readdirSync('/sys/fs/cgroup')]
    .map((name) => join('/sys/fs/cgroup', name, groupOf(number)))
    .filter((path) => existsSync(path));
  for (const group of groups) {
    const pids = await tried('find', group, '-name', 'cgroup.procs', '-exec', 'cat', '{}', ';');
    killNow(pids.split('\n').filter(Boolean).map(Number));
  }
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[1] ?? [])
    .filter((path) => path.startsWith(`${folder}/`));
  for (const mount of mounts.toReversed()) await tried('umount', '-l', mount);
  await tried('ip', 'link', 'delete', bridgeOf(number));
  for (const group of groups) await tried('find', group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';');
}

/** containerd and a kubelet, with folders, ports, a bridge and control groups of their own: as many as fit on one machine. */
export class LabNode {
  private readonly containerd: Daemon;
  private kubelet: Daemon | undefined;
  private readonly socket: string;
  private readonly bridge: string;
  private readonly group: string;
  /** Number of the node on this machine: it tells bridges, networks and ports of nodes apart. */
  private readonly number = claimNumber();

  constructor(private readonly options: LabNodeOptions) {
    const { folder } = options;
    const { number } = this;
    mkdirSync(join(folder, 'cni'), { recursive: true });
    this.socket = join(folder, 'c.sock');
    this.bridge = bridgeOf(number);
    writeFileSync(join(folder, numberFile), String(number));
    this.group = groupOf(number);
    this.writeContainerd();
    this.containerd = new Daemon(
      'containerd',
      ['--config', join(folder, 'containerd.toml')],
      join(folder, 'containerd.log'),
    );
  }

  get name(): string {
    return this.options.name;
  }

  /** That its tasks may have; all nodes have the address of this machine. */
  get ports(): { begin: number; end: number } {
    const begin = 20_000 + this.number * 100;
    return { begin, end: begin + 99 };
  }

  async start(): Promise<void> {
    this.makeGroups();
    this.containerd.start();
    await this.containerd.until('its socket', async () => (await this.ctr('version')) !== '');
    for (const image of this.options.images) await this.ctr('images', 'import', image);
    await this.startKubelet();
  }

  /** `changes`: of its configuration, until its next start. */
  async startKubelet(changes: object = {}): Promise<void> {
    const { folder, name, bin, address, kubeconfig } = this.options;
    await this.writeKubelet(changes);
    const words = [
      `--config=${join(folder, 'kubelet.yaml')}`,
      `--kubeconfig=${kubeconfig}`,
      `--root-dir=${join(folder, 'kubelet')}`,
      `--cert-dir=${join(folder, 'kubelet-pki')}`,
      `--hostname-override=${name}`,
      `--node-ip=${address}`,
    ];
    this.kubelet = new Daemon(join(bin, 'kubelet'), words, join(folder, 'kubelet.log'));
    this.kubelet.start();
  }

  /** Its containers run on. */
  async killKubelet(): Promise<void> {
    await this.kubelet?.stop('SIGKILL');
  }

  /** Stops the node and removes what is left of its containers, mounts, bridge and control groups. */
  async stop(): Promise<void> {
    await this.kubelet?.stop();
    for (const task of (await this.ctr('tasks', 'ls', '-q')).split('\n').filter(Boolean))
      await this.ctr('tasks', 'rm', '-f', task);
    await this.containerd.stop();
    await removeTraces(this.options.folder);
  }

  private ctr = (...words: string[]): Promise<string> => tried('ctr', '-a', this.socket, '-n', 'k8s.io', ...words);

  private makeGroups(): void {
    for (const path of groupsOf(this.number)) mkdirSync(path, { recursive: true });
    const cpuset = '/sys/fs/cgroup/cpuset';
    if (existsSync(`${cpuset}/tasks`))
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        writeFileSync(`${cpuset}/${this.group}/${file}`, readFileSync(`${cpuset}/${file}`, 'utf8'));
  }

  private writeContainerd(): void {
    const { folder } = this.options;
    const { number } = this;
    const cri = '[plugins."io.containerd.grpc.v1.cri"';
    const lines = [
      'version = 2',
      `root = "${folder}/containerd"`,
      `state = "${folder}/containerd-state"`,
      `[grpc]\naddress = "${this.socket}"`,
      `[ttrpc]\naddress = "${folder}/t.sock"`,
      `[plugins."io.containerd.internal.v1.opt"]\npath = "${folder}/opt"`,
      `${cri}]\nsandbox_image = "${pauseImage}"`,
      // Not every machine lets its root lower the score.
      'restrict_oom_score_adj = true',
      `${cri}.cni]\nbin_dir = "/usr/lib/cni"\nconf_dir = "${folder}/cni"`,
      `${cri}.containerd]\ndefault_runtime_name = "runc"`,
      `${cri}.containerd.runtimes.runc]\nruntime_type = "io.containerd.runc.v2"`,
    ];
    writeFileSync(join(folder, 'containerd.toml'), lines.join('\n'));
    const ipam = {
      type: 'host-local',
      ranges: [[{ subnet: `10.251.${number}.0/24` }]],
      routes: [{ dst: '0.0.0.0/0' }],
      dataDir: `${folder}/addresses`,
    };
    const plugins = [
      { type: 'bridge', bridge: this.bridge, isGateway: true, ipMasq: false, ipam },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ];
    const network = { cniVersion: '1.0.0', name: this.bridge, plugins };
    writeFileSync(join(folder, 'cni/10-test.conflist'), JSON.stringify(network));
  }

  private async writeKubelet(changes: object): Promise<void> {
    const { folder, certificates, address } = this.options;
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${this.group}`,
      failSwapOn: false,
      containerRuntimeEndpoint: `unix://${this.socket}`,
      address,
      port: await freePort(),
      healthzPort: 0,
      readOnlyPort: 0,
      tlsCertFile: join(certificates, 'kubelet.crt'),
      tlsPrivateKeyFile: join(certificates, 'kubelet.key'),
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: false },
        x509: { clientCAFile: join(certificates, 'ca.crt') },
      },
      authorization: { mode: 'AlwaysAllow' },
      makeIPTablesUtilChains: false,
      enableControllerAttachDetach: false,
      evictionHard: {
        'memory.available': '100Mi',
        'nodefs.available': '1%',
        'imagefs.available': '1%',
        'nodefs.inodesFree': '1%',
      },
      imageGCHighThresholdPercent: 100,
      nodeStatusUpdateFrequency: '2s',
      nodeLeaseDurationSeconds: 10,
      kubeAPIQPS: 200,
      kubeAPIBurst: 400,
      eventRecordQPS: 0,
      ...changes,
    };
    writeFileSync(join(folder, 'kubelet.yaml'), stringify(config));
  }
}

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../support/free-port.js';
import { Daemon, tried } from './daemon.js';
import { pauseImage } from './image.js';

interface LabNodeOptions {
  name: string;
  /** Of its own. */
  folder: string;
  bin: string;
  certificates: string;
  kubeconfig: string;
  address: string;
  images: readonly string[];
  /** Of this machine: it tells bridges and networks of nodes apart. */
  number: number;
}

const controllers = (): string[] =>
  readdirSync('/sys/fs/cgroup').filter((name) => existsSync(`/sys/fs/cgroup/${name}/tasks`));

/** containerd and a kubelet, with folders, ports, a bridge and control groups of their own: as many as fit on one machine. */
export class LabNode {
  private readonly containerd: Daemon;
  private kubelet: Daemon | undefined;
  private readonly socket: string;
  private readonly bridge: string;
  private readonly group: string;

  constructor(private readonly options: LabNodeOptions) {
    const { folder, number } = options;
    mkdirSync(join(folder, 'cni'), { recursive: true });
    this.socket = join(folder, 'c.sock');
    this.bridge = `mustest${number}`;
    this.group = `muster-lab-${number}`;
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

  async start(): Promise<void> {
    this.makeGroups();
    this.containerd.start();
    await this.containerd.until('its socket', async () => (await this.ctr('version')) !== '');
    for (const image of this.options.images) await this.ctr('images', 'import', image);
    await this.startKubelet();
  }

  async startKubelet(): Promise<void> {
    const { folder, name, bin, address, kubeconfig } = this.options;
    await this.writeKubelet();
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

  /** What is left of its containers, mounts, bridge and control groups goes, too. */
  async stop(): Promise<void> {
    await this.kubelet?.stop();
    for (const task of (await this.ctr('tasks', 'ls', '-q')).split('\n').filter(Boolean))
      await this.ctr('tasks', 'rm', '-f', task);
    await this.containerd.stop();
    const mounts = readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .flatMap((line) => line.split(' ')[1] ?? [])
      .filter((path) => path.startsWith(`${this.options.folder}/`));
    for (const mount of mounts.toReversed()) await tried('umount', '-l', mount);
    await tried('ip', 'link', 'delete', this.bridge);
    // The kubelet makes one in each hierarchy, without controllers, too.
    const left = ['', ...readdirSync('/sys/fs/cgroup')].map((name) => join('/sys/fs/cgroup', name, this.group));
    for (const path of left.filter((each) => existsSync(each)))
      await tried('find', path, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';');
  }

  private ctr = (...words: string[]): Promise<string> => tried('ctr', '-a', this.socket, '-n', 'k8s.io', ...words);

  private groups = (): string[] => {
    const roots = controllers().map((name) => `/sys/fs/cgroup/${name}`);
    return (roots.length > 0 ? roots : ['/sys/fs/cgroup']).map((root) => join(root, this.group));
  };

  private makeGroups(): void {
    for (const path of this.groups()) mkdirSync(path, { recursive: true });
    const cpuset = '/sys/fs/cgroup/cpuset';
    if (existsSync(`${cpuset}/tasks`))
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        writeFileSync(`${cpuset}/${this.group}/${file}`, readFileSync(`${cpuset}/${file}`, 'utf8'));
  }

  private writeContainerd(): void {
    const { folder, number } = this.options;
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

  private async writeKubelet(): Promise<void> {
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
    };
    writeFileSync(join(folder, 'kubelet.yaml'), stringify(config));
  }
}

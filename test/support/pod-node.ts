import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pidsBelow, removeGroup } from '../../src/agent/cgroups/group-files.js';
import { readStat } from '../../src/agent/processes/process-identity.js';
import { signal } from '../../src/agent/processes/processes.js';
import { PodAgentConnection } from '../../src/pod-agent/pod-agent-client.js';
import type { PodToPrepare } from '../../src/pod-agent/pod-agent-api.js';
import { podAgentProgram } from './agent-programs.js';
import { spawnNode, type TestProcess } from './spawn.js';
import { tempFolder } from './temp-folder.js';

const cgroupRoot = '/sys/fs/cgroup';
const isVersion2 = existsSync(join(cgroupRoot, 'cgroup.controllers'));
const hierarchies = isVersion2
  ? [cgroupRoot]
  : ['memory', 'cpu', 'cpuacct', 'pids'].map((name) => join(cgroupRoot, name)).filter((path) => existsSync(path));
export const testUid = 1_899_999_999;

/** Joins the cgroups of its container, sees the sandbox where a pod mounts it, and becomes the user of the task. */
const inPod = `
for group in $OF_CONTAINER; do echo 0 >"$group/cgroup.procs" || exit 120; done
mount -t tmpfs none /mnt && mkdir -p /mnt/cluster/sandbox && mount --bind "$1" /mnt/cluster/sandbox || exit 121
mount -t proc proc /proc && cd /mnt/cluster/sandbox || exit 122
user=$2; shift 2
[ "$user" = 0 ] && exec env -u OF_CONTAINER "$@"
exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs -- env -u OF_CONTAINER "$@"`;

export interface TestPod {
  uid: string;
  child: ChildProcess;
  end(): Promise<void>;
}

/** A node of a cluster without a kubelet: its agent is real, and the test does what a kubelet and a runtime do. */
export class PodNode {
  readonly name = 'node-1';
  readonly secret = randomBytes(24).toString('hex');
  readonly root: string;
  readonly podLogs: string;
  readonly connections: PodAgentConnection[] = [];
  port = 0;
  readonly folder = tempFolder();
  private readonly key = randomBytes(6).toString('hex');
  private readonly pods: TestPod[] = [];
  private agent: TestProcess | undefined;

  private readonly settings: object;

  private constructor(settings: object | ((folder: string) => object)) {
    this.settings =
      typeof settings === 'function' ? (settings as (folder: string) => object)(this.folder.path) : settings;
    this.root = join(this.folder.path, 'sandboxes');
    this.podLogs = join(this.folder.path, 'pod-logs');
    mkdirSync(this.podLogs);
  }

  /** `settings`: keys of its file, or what makes them for the folder of the test. */
  static async start(settings: object | ((folder: string) => object) = {}): Promise<PodNode> {
    const node = new PodNode(settings);
    node.writeSecrets(node.secret);
    await node.startAgent();
    return node;
  }

  /** For the next start of the agent. */
  writeSecrets(...secrets: readonly string[]): void {
    writeFileSync(join(this.folder.path, 'secret'), `${secrets.join('\n')}\n`);
  }

  get lines(): string[] {
    return this.agent!.lines;
  }

  async startAgent(): Promise<void> {
    const config = join(this.folder.path, 'agent.yaml');
    const { root, podLogs } = this;
    const own = { root, podLogs, secretFile: join(this.folder.path, 'secret'), host: '127.0.0.1', port: 0 };
    writeFileSync(config, JSON.stringify({ ...own, ...this.settings }));
    this.agent = spawnNode([podAgentProgram, '--node', this.name, '--config', config]);
    const said = await this.agent.line(`agent: Agent of node '${this.name}' listens on 127.0.0.1:`);
    this.port = Number.parseInt(said, 10);
  }

  async stopAgent(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.agent?.kill(signal);
  }

  connect(changes: Partial<{ node: string; secret: string }> = {}): PodAgentConnection {
    const { name: node, secret, port } = this;
    const made = new PodAgentConnection({ host: '127.0.0.1', port, node, secret, callMillis: 10_000, ...changes });
    this.connections.push(made);
    return made;
  }

  /** As it listens now. */
  get api() {
    return this.connect().agent;
  }

  leader = (epoch = 1) => this.api.leader({ epoch });

  newPod(changes: Partial<PodToPrepare> = {}): PodToPrepare {
    const id = randomUUID().slice(0, 8);
    const user = { uid: testUid, gid: testUid };
    const own = { taskId: `task-${id}`, namespace: 'jobs', podName: `muster-task-${id}` };
    return { ...own, user, cpus: 1, memoryMb: 64, diskMb: 100, ...changes };
  }

  /** Answers it with the path of its sandbox. */
  async prepare(changes: Partial<PodToPrepare> = {}): Promise<PodToPrepare & { path: string }> {
    const pod = this.newPod(changes);
    const answer = await this.leader().prepare({ pod });
    if (answer.outcome !== 'PREPARED') throw new Error(`Not prepared: ${JSON.stringify(answer)}`);
    return { ...pod, path: answer.path };
  }

  /** Folder of the output of a container, made as the kubelet makes it. */
  logsOf({ namespace, podName }: PodToPrepare, uid: string): string {
    const folder = join(this.podLogs, `${namespace}_${podName}_${uid}`, 'task');
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** As the runtime writes it down. */
  print(pod: PodToPrepare, uid: string, text: string | readonly string[], stream = 'stdout'): void {
    const head = `${new Date().toISOString()} ${stream} F `;
    const lines = [text].flat().map((line) => `${head}${line}\n`);
    appendFileSync(join(this.logsOf(pod, uid), '0.log'), lines.join(''));
  }

  /** A container with the sandbox of the task, in cgroups of its own beside that of another process of its pod. */
  start(pod: PodToPrepare & { path: string }, words: readonly string[], user = testUid): TestPod {
    const uid = randomUUID();
    this.logsOf(pod, uid);
    const groups = (name: string) =>
      hierarchies.map((root) => join(root, `muster-test-${this.key}`, 'kubepods/burstable', `pod${uid}`, name));
    for (const name of ['aaaa-pause', 'bbbb-task'])
      for (const path of groups(name)) mkdirSync(path, { recursive: true });
    const pause = spawn('/bin/sleep', ['600'], { stdio: 'ignore' });
    for (const path of groups('aaaa-pause')) writeFileSync(join(path, 'cgroup.procs'), String(pause.pid));
    const child = spawn(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        '--kill-child',
        '--',
        '/bin/sh',
        '-c',
        inPod,
        'sh',
        pod.path,
        String(user),
        ...words,
      ],
      {
        stdio: 'ignore',
        env: { PATH: process.env['PATH'], OWN: 'of the pod', OF_CONTAINER: groups('bbbb-task').join(' ') },
      },
    );
    const end = async () => {
      // A process that has changed its user does not end with the one that started it.
      for (const path of groups('bbbb-task').slice(0, 1))
        for (const stat of pidsBelow(path).map(readStat)) if (stat) signal(stat, 'SIGKILL');
      for (const one of [child, pause]) {
        if (one.exitCode !== null || one.signalCode !== null) continue;
        const gone = once(one, 'exit');
        one.kill('SIGKILL');
        await gone;
      }
      for (const path of groups('')) await removeGroup(path);
    };
    const made = { uid, child, end };
    this.pods.push(made);
    return made;
  }

  readBytes = (pod: PodToPrepare, path: string): Promise<Buffer> =>
    this.api
      .task({ taskId: pod.taskId })
      .sandbox()
      .download({ path })
      .then(({ content }) => buffer(content));

  read = async (pod: PodToPrepare, path: string): Promise<string> => (await this.readBytes(pod, path)).toString();

  async close(): Promise<void> {
    for (const connection of this.connections) await connection.close();
    await this.stopAgent();
    for (const pod of this.pods) await pod.end();
    for (const root of hierarchies) await removeGroup(join(root, `muster-test-${this.key}`));
    this.folder.remove();
  }
}

export const specOf = (
  node: PodNode,
  { podName }: PodToPrepare,
): { preparedAt: number; endedAt?: number; uid?: string; areLogsFinished?: boolean } =>
  JSON.parse(readFileSync(join(node.root, podName, 'spec.json'), 'utf8')) as { preparedAt: number };

import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { AgentDirectory, readEndpoint } from '../../src/agent/state/agent-directory.js';
import { type AgentOptions, runAgent, type RunningAgent } from '../../src/agent/agent.js';
import { Cgroups } from '../../src/agent/cgroups/cgroups.js';
import { readMounts } from '../../src/agent/cgroups/mounts.js';
import { processesUnder, signal } from '../../src/agent/processes/processes.js';
import { LocalDriver } from '../../src/cluster/local/local-driver.js';
import { isTerminal, type TaskState } from '../../src/core/model/enums.js';
import type { LaunchSpec } from '../../src/core/model/launch.js';
import { fetchProgram, rotateProgram, uploadProgram } from './agent-programs.js';
import { EventRecorder } from './event-recorder.js';
import { launchSpec } from './launch-spec.js';
import { spawnNode, type TestProcess } from './spawn.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { removeFolder, tempFolder } from './temp-folder.js';
import { waitFor } from './wait-for.js';

export const testSlave = {
  id: 's1',
  hostname: 'localhost',
  rackId: 'rack-1',
  attributes: { disk: 'ssd' },
  cpus: 4,
  memoryMb: 4_096,
  diskMb: 1_000,
  ports: '1-65535',
};

/** Collects what an agent or a driver logs. */
export function testLog() {
  const lines: string[] = [];
  const add = (message: string, cause?: unknown) => void lines.push(cause ? `${message}: ${String(cause)}` : message);
  return { lines, info: add, warn: add, error: add };
}

let count = 0;
export const newTaskId = (): string => `request-deploy-${Date.now()}-${++count}-host-rack`;

interface AgentClusterOptions extends Partial<AgentOptions> {
  /** The agent is a process of its own, which a test may kill: this program. */
  program?: string;
}

/** An agent on a folder of its own, a driver that follows it, and what the driver told. */
export class AgentCluster {
  readonly log = testLog();
  readonly seen = new EventRecorder();
  readonly drivers: LocalDriver[] = [];
  driver!: LocalDriver;
  incarnation = '';
  private agent: RunningAgent | undefined;
  private agentProcess: TestProcess | undefined;
  private readonly lines: TcpProxy[] = [];
  private readonly folder = tempFolder();

  private readonly options: AgentClusterOptions;

  /** Unless the settings say otherwise, tasks may be 'nobody' as well. */
  private constructor(options: AgentClusterOptions) {
    this.options = {
      ...options,
      settings: { allowedRunUsers: ['nobody'], ...(options.settings as object | undefined) },
    };
  }

  static async start(options: AgentClusterOptions = {}): Promise<AgentCluster> {
    const cluster = new AgentCluster(options);
    await cluster.startAgent();
    cluster.driver = cluster.newDriver();
    await cluster.driver.start(1, cluster.seen, cluster.seen.appliedUpdate);
    return cluster;
  }

  /** The agent's folder. */
  get root(): string {
    return this.options.directory ?? join(this.folder.path, 'agent');
  }

  async startAgent(): Promise<void> {
    if (this.options.program) await this.startProcess(this.options.program);
    else
      this.agent = await runAgent({
        directory: this.root,
        slaves: [testSlave],
        log: this.log,
        fetchProgram,
        rotateProgram,
        uploadProgram,
        ...this.options,
      });
    this.incarnation = (await readEndpoint(this.root))!.incarnation;
  }

  /** In order. Whatever runs keeps running. */
  async stopAgent(): Promise<void> {
    await this.agent?.stop();
    await this.agentProcess?.kill('SIGTERM');
  }

  /** At once. Whatever runs keeps running. */
  async killAgent(): Promise<void> {
    await this.agentProcess!.kill('SIGKILL');
  }

  async restartAgent(): Promise<void> {
    await this.stopAgent();
    await this.startAgent();
  }

  private async startProcess(program: string): Promise<void> {
    const settings = { slaves: this.options.slaves ?? [testSlave], ...(this.options.settings as object) };
    const config = join(this.folder.path, 'settings.json');
    writeFileSync(config, JSON.stringify(settings));
    this.agentProcess = spawnNode([program, '--data-dir', this.folder.path, '--config', config]);
    await this.agentProcess.line("agent: Agent 'local' listens");
  }

  newDriver(): LocalDriver {
    const driver = new LocalDriver({ agentDirectory: this.root, log: this.log, now: Date.now });
    this.drivers.push(driver);
    return driver;
  }

  /** A line to the agent that a test can cut or freeze, and a driver that knows no other. Both end with the cluster. */
  async driverBehindLine(): Promise<{ line: TcpProxy; driver: LocalDriver }> {
    const endpoint = (await readEndpoint(this.root))!;
    const line = await startTcpProxy(endpoint);
    this.lines.push(line);
    const agentFolder = join(this.folder.path, `behind-${line.port}`);
    mkdirSync(agentFolder);
    copyFileSync(join(this.root, 'secret'), join(agentFolder, 'secret'));
    writeFileSync(join(agentFolder, 'endpoint.json'), JSON.stringify({ ...endpoint, port: line.port }));
    const driver = new LocalDriver({ agentDirectory: agentFolder, log: this.log, now: Date.now });
    this.drivers.push(driver);
    return { line, driver };
  }

  spec(changes: Partial<LaunchSpec> = {}): LaunchSpec {
    return launchSpec({ taskId: newTaskId(), incarnation: this.incarnation, ...changes });
  }

  /** Launches `sh -c script`, unless `changes` say otherwise. */
  async launch(script: string, changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
    const spec = this.spec({ command: { shell: true, value: script, arguments: [] }, ...changes });
    const [answer] = await this.driver.launch([spec], 1);
    if (answer?.outcome !== 'ACCEPTED') throw new Error(`Launch answered ${JSON.stringify(answer)}`);
    return spec;
  }

  /** Resolves with the message of the update. */
  async untilState(spec: LaunchSpec, state: string): Promise<string> {
    const update = await waitFor(
      `${state} of ${spec.taskId} (seen: ${this.seen.statesOf(spec.taskId).join()})`,
      () => this.seen.updates.find((each) => each.taskId === spec.taskId && each.state === state),
      { timeoutMillis: 25_000, everyMillis: 5 },
    );
    return update.message ?? '';
  }

  /** Launches and waits for the end. */
  async run(script: string, changes: Partial<LaunchSpec> = {}): Promise<LaunchSpec> {
    const spec = await this.launch(script, changes);
    await this.untilEnd(spec);
    return spec;
  }

  async untilEnd(spec: LaunchSpec): Promise<void> {
    await waitFor(
      `the end of ${spec.taskId}`,
      () => this.seen.statesOf(spec.taskId).some((state) => isTerminal(state as TaskState)),
      { timeoutMillis: 25_000, everyMillis: 5 },
    );
  }

  sandbox(spec: LaunchSpec, ...path: string[]): string {
    return join(this.root, 'sandboxes', spec.taskId, ...path);
  }

  output(spec: LaunchSpec, file = 'stdout'): string {
    return readFileSync(this.sandbox(spec, file), 'utf8');
  }

  /** Control files of a task that has not been archived. */
  control(spec: LaunchSpec, file: string): string {
    return join(this.root, 'tasks', spec.taskId, file);
  }

  /** A file in the sandbox, once it is there with something in it. */
  async fileOf(spec: LaunchSpec, ...path: string[]): Promise<string> {
    return waitFor(path.join('/'), () => readFileSync(this.sandbox(spec, ...path), 'utf8'), { everyMillis: 5 });
  }

  /** Live processes of all tasks, shims among them. */
  processes = () => processesUnder(join(this.root, 'sandboxes'));

  async close(): Promise<void> {
    for (const driver of this.drivers) await driver.stop();
    for (const line of this.lines) await line.close();
    await this.stopAgent();
    await this.endEverything();
    this.folder.remove();
  }

  /** Every process that was ever started from the folder. */
  private async endEverything(): Promise<void> {
    await waitFor('the end of all processes', () => {
      const left = this.processes();
      for (const process of left) signal(process, 'SIGKILL');
      return left.length === 0;
    });
    const { key } = await AgentDirectory.open(this.root);
    await Cgroups.probe(`muster-${key}`, readMounts()).removeAll();
    removeFolder(this.root);
  }
}

/** A port that another program listens on. */
export async function occupyPort(): Promise<{ port: number; free(): Promise<void> }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return { port: address.port, free: () => new Promise((resolve) => server.close(() => resolve())) };
}

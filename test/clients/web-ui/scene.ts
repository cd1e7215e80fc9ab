import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { DeployState } from '../../../src/core/model/enums.js';
import type { Request } from '../../../src/core/model/request.js';
import type { Task, TaskIdHistory } from '../../../src/core/model/task.js';
import { Api } from '../../e2e/support/api.js';
import { Installation, type Instance } from '../../e2e/support/product.js';
import { waitFor } from '../../support/wait-for.js';

/** Path of the older installation, and now of Muster. */
export const base = '/singularity';
/** Offered by the page, and run by the agents. */
export const shellCommands = [{ name: 'who', description: 'Says who the task is' }];

/** Patience for what must come, however busy this machine is. */
export const patience = { timeoutMillis: 90_000 };
export const patiently = <T>(what: string, condition: () => T | Promise<T>): ReturnType<typeof waitFor<T>> =>
  waitFor(what, condition, patience);

const anHour = 3_600;
const sized = { cpus: 4, memoryMb: 2048, diskMb: 2048 };
/** Two racks with machines that can be reached and take every task; the others are each for what names them. */
export const machines = {
  agent1: { id: 'agent1', rackId: 'rack1', hostname: 'localhost', attributes: { reached: 'yes' }, ...sized },
  agent2: { id: 'agent2', rackId: 'rack2', hostname: 'localhost', attributes: { reached: 'yes' }, ...sized },
  small: { id: 'small', rackId: 'rack2', hostname: 'host3', attributes: { room: 'small' }, ...sized, cpus: 1 },
  leaving: { id: 'leaving', rackId: 'rack2', hostname: 'host6', attributes: { room: 'leaving' }, ...sized },
  spare: { id: 'spare', rackId: 'rack3', hostname: 'host4', attributes: { room: 'spare' }, ...sized },
  lost: { id: 'lost', rackId: 'rack3', hostname: 'host5', attributes: { room: 'lost' }, ...sized },
  worn: { id: 'worn', rackId: 'rack3', hostname: 'host7', attributes: { room: 'worn' }, ...sized },
  idle: { id: 'idle', rackId: 'rack3', hostname: 'host8', attributes: { room: 'idle' }, ...sized },
  apart: { id: 'apart', rackId: 'rack4', hostname: 'host10', attributes: { room: 'apart' }, ...sized },
};
type Machine = keyof typeof machines;
const allMachines = Object.keys(machines) as Machine[];

const resources = { cpus: 0.1, memoryMb: 32 };
const server =
  "require('node:http').createServer((request, response) => response.end('fine')).listen(Number(process.env.PORT), " +
  "'127.0.0.1', () => console.log('the site is open'))";
const healthcheck = { uri: '/', intervalSeconds: 1, startupIntervalSeconds: 1, startupTimeoutSeconds: 30 };
const longTime = 'sleep 1000';

/** A started Muster as an operator sets it up who keeps the old web UI, with something of everything in it. */
export class Scene {
  private readonly installation: Installation;
  private readonly files: string;
  muster!: Instance;
  private agent: Instance | undefined;

  /** Further settings, and headers that let its own calls do everything. */
  constructor(
    settings: Record<string, unknown> = {},
    private readonly headers: Record<string, string> = {},
  ) {
    this.installation = new Installation({
      settings: {
        compatibility: '1.5',
        http: { contextPath: base },
        ui: { shellCommands },
        checkUsageEveryMillis: 1_000,
        // A task that ends up on a machine by chance would keep it from being left.
        reserveSlavesWithAttributes: { room: ['small', 'leaving', 'spare', 'lost', 'worn', 'idle', 'apart'] },
        maxDecommissioningSlaves: allMachines.length,
        // What cools down does so until it is told otherwise, and tries nothing meanwhile.
        crashLoop: { cooldownFailureThreshold: 2, evaluateCooldownOverMinutes: 60 },
        cooldownMinScheduleSeconds: anHour,
        hardKillAfterMillis: anHour * 1_000,
        // Each look takes back the disasters that tests declare.
        disasterDetection: { runEveryMillis: 60_000 },
        ...settings,
      },
    });
    this.files = join(this.installation.dataDir, 'scene');
  }

  get api(): Api {
    return new Api(this.muster.api.url, this.headers);
  }

  async start(...present: Machine[]): Promise<void> {
    const names = present.length > 0 ? present : allMachines;
    mkdirSync(this.files, { mode: 0o755 });
    this.muster = await this.installation.start(['scheduler']);
    await this.present(...names);
    const active = (): Promise<unknown[]> => this.api.get('slaves?state=ACTIVE');
    await patiently('the machines', async () => (await active()).length === names.length);
  }

  dispose = (): Promise<void> => this.installation.dispose();

  /** From now on all machines but this one are there. Tasks run on. */
  loses = (lost: Machine): Promise<void> => this.present(...allMachines.filter((name) => name !== lost));

  /** From now on there are these machines and no others. */
  private async present(...names: Machine[]): Promise<void> {
    await this.agent?.stop();
    const file = join(this.files, 'machines.json');
    const commands = [{ name: 'who', command: ['/bin/sh', '-c', 'echo I am $TASK_ID'] }];
    const slaves = names.map((name) => machines[name]);
    writeFileSync(file, JSON.stringify({ cluster: { local: { slaves, shellCommands: commands } } }));
    this.agent = await this.installation.spawn(['agent'], { MUSTER_CONFIG: file });
  }

  request = (request: Partial<Request> & { id: string }): Promise<unknown> =>
    this.api.post('requests', { requestType: 'SERVICE', ...request });

  deploy = (requestId: string, deploy: Partial<Deploy> = {}): Promise<unknown> =>
    this.api.post('deploys', {
      deploy: {
        requestId,
        id: 'v1',
        command: longTime,
        resources,
        considerHealthyAfterRunningForSeconds: 0,
        ...deploy,
      },
    });

  /** Waits for the end of the deploy, and fails when it is another one. */
  async deployEnds(requestId: string, deployId: string, asState: DeployState): Promise<void> {
    const { deployResult } = await this.api.deployEnded(requestId, deployId, patience.timeoutMillis);
    if (deployResult?.deployState !== asState) throw new Error(JSON.stringify(deployResult));
  }

  /** A request whose deploy has succeeded, with its tasks. */
  async running(request: Partial<Request> & { id: string }, deploy: Partial<Deploy> = {}): Promise<Task[]> {
    await this.request(request);
    await this.deploy(request.id, deploy);
    await this.deployEnds(request.id, deploy.id ?? 'v1', 'SUCCEEDED');
    return this.api.activeTasks(request.id);
  }

  /** Its first deploy failed, because its only task ended long before it would have counted as healthy. */
  async failed(id: string): Promise<void> {
    await this.request({ id });
    await this.deploy(id, { command: 'echo no good; exit 7', considerHealthyAfterRunningForSeconds: anHour });
    await this.deployEnds(id, 'v1', 'FAILED');
    await this.ended(id, 1);
  }

  /** Exactly these many tasks run, and none of them is going away. */
  runs = (id: string, count: number): Promise<Task[]> => this.api.running(id, count, patience.timeoutMillis);

  /** So many tasks have ended; the newest first. */
  ended = (id: string, count: number): Promise<TaskIdHistory[]> =>
    patiently(`${count} tasks of ${id} to end`, async () => {
      const tasks = await this.api.endedTasks(id);
      return tasks.length === count && tasks;
    });

  until = (id: string, state: string): Promise<unknown> =>
    patiently(`${id} to be ${state}`, async () => (await this.api.request(id)).state === state);

  gone = (id: string): Promise<unknown> =>
    patiently(`${id} to be gone`, async () => !(await this.api.get<string[]>('requests/ids')).includes(id));

  /** Served over HTTP by two tasks that are checked, and write a file and a folder. */
  site = (id = 'site'): Promise<Task[]> =>
    this.running(
      { id, instances: 2, owners: ['ann@example.com'], requiredSlaveAttributes: { reached: 'yes' } },
      {
        command: `mkdir folder && echo inside > folder/inner.txt && exec node -e "${server}"`,
        resources: { ...resources, memoryMb: 128, numPorts: 1 },
        env: { COLOUR: 'green' },
        healthcheck,
      },
    );

  /** Runs under the executor whose tasks take shell commands in the UI. */
  withCommands = (id: string): Promise<Task[]> =>
    this.running(
      { id, requestType: 'WORKER' },
      { command: undefined, customExecutorCmd: '/usr/bin/singularity-executor', executorData: { cmd: longTime } },
    );

  /** On demand: writes its arguments. One run has ended. */
  async job(id: string): Promise<void> {
    await this.running({ id, requestType: 'ON_DEMAND' }, { command: '/bin/echo', arguments: ['the job says'] });
    await this.api.post(`requests/request/${id}/run`, { runId: 'first', commandLineArgs: ['hello'] });
    await this.ended(id, 1);
  }

  /** Waits with its deploy between two of its three steps. */
  async inSteps(id: string): Promise<void> {
    await this.request({ id, instances: 3 });
    await this.deploy(id, { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false });
    await patiently('the first step to be done', async () => {
      const { pendingDeployState } = await this.api.request(id);
      return pendingDeployState?.deployProgress?.stepComplete;
    });
  }

  /** Fails as soon as its deploy has succeeded, again and again, until it is mended. */
  async coolingDown(id: string): Promise<void> {
    const mayFail = join(this.files, id);
    await this.running({ id }, { command: `while [ ! -e ${mayFail} ]; do sleep 0.1; done; exit 1` });
    writeFileSync(mayFail, '');
    await this.until(id, 'SYSTEM_COOLDOWN');
  }
  mend = (id: string): void => rmSync(join(this.files, id));

  /** Does not end when it is told to, but only by force. */
  async slowToEnd(id: string): Promise<Task> {
    const command = `trap '' TERM; echo ready; while true; do sleep 0.2; done`;
    const [task] = await this.running({ id }, { command });
    const read = `sandbox/${task!.taskId.id}/read?path=stdout&offset=0`;
    await patiently('it to listen', async () => (await this.api.get<{ data: string }>(read)).data.includes('ready'));
    return task!;
  }
}

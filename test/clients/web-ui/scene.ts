import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deploy } from '../../../src/core/model/deploy.js';
import type { Request } from '../../../src/core/model/request.js';
import type { Task } from '../../../src/core/model/task.js';
import { Api } from '../../e2e/support/api.js';
import { Installation, type Instance } from '../../e2e/support/product.js';
import { waitFor } from '../../support/wait-for.js';

/** Where the older installation stood, and Muster does now. */
export const base = '/singularity';
/** Offered by the page, and run by the agents. */
export const shellCommands = [{ name: 'who', description: 'Says who the task is' }];

/** Between two looks of the service at whether there is a disaster, which take back what its figures do not show. */
export const lookEveryMillis = 20_000;

const sized = { cpus: 4, memoryMb: 2048, diskMb: 2048 };
/** Two racks with machines that can be reached, and machines that come and go. */
export const machines = {
  agent1: { id: 'agent1', rackId: 'rack1', hostname: 'localhost', attributes: { reached: 'yes' }, ...sized },
  agent2: { id: 'agent2', rackId: 'rack2', hostname: 'localhost', attributes: { reached: 'yes' }, ...sized },
  small: { id: 'small', rackId: 'rack2', hostname: 'host3', attributes: { room: 'small' }, ...sized, cpus: 1 },
  leaving: { id: 'leaving', rackId: 'rack2', hostname: 'host6', attributes: { room: 'leaving' }, ...sized },
  spare: { id: 'spare', rackId: 'rack3', hostname: 'host4', attributes: { room: 'spare' }, ...sized },
  lost: { id: 'lost', rackId: 'rack3', hostname: 'host5', attributes: { room: 'lost' }, ...sized },
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
        crashLoop: { cooldownFailureThreshold: 2 },
        // Figures alone: tasks that wait for long and machines that are lost belong to the tests, which declare disasters themselves.
        disasterDetection: {
          runEveryMillis: lookEveryMillis,
          checkLateTasks: false,
          checkLostSlaves: false,
          checkLostTasks: false,
        },
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
    await waitFor('the machines', async () => (await active()).length === names.length, { timeoutMillis: 90_000 });
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

  /** A request whose deploy has succeeded, with its tasks. */
  async running(request: Partial<Request> & { id: string }, deploy: Partial<Deploy> = {}): Promise<Task[]> {
    await this.request(request);
    await this.deploy(request.id, deploy);
    const { deployResult } = await this.api.deployEnded(request.id, deploy.id ?? 'v1');
    if (deployResult?.deployState !== 'SUCCEEDED') throw new Error(JSON.stringify(deployResult));
    return this.api.activeTasks(request.id);
  }

  until = (id: string, state: string): Promise<unknown> =>
    waitFor(`${id} to be ${state}`, async () => (await this.api.request(id)).state === state);

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
    await waitFor('the run to end', async () => (await this.api.endedTasks(id)).length === 1);
  }

  /** Waits with its deploy between two of its three steps. */
  async inSteps(id: string): Promise<void> {
    await this.request({ id, instances: 3 });
    await this.deploy(id, { deployInstanceCountPerStep: 1, autoAdvanceDeploySteps: false });
    await waitFor('the first step to be done', async () => {
      const { pendingDeployState } = await this.api.request(id);
      return pendingDeployState?.deployProgress?.stepComplete;
    });
  }

  /** Fails again and again, until it is mended. */
  async coolingDown(id: string): Promise<void> {
    const mayFail = join(this.files, id);
    await this.running({ id }, { command: `while [ ! -e ${mayFail} ]; do sleep 0.1; done; exit 1` });
    writeFileSync(mayFail, '');
    await this.until(id, 'SYSTEM_COOLDOWN');
  }
  mend = (id: string): void => rmSync(join(this.files, id));

  /** Takes its time when it is told to end. */
  async slowToEnd(id: string): Promise<Task> {
    const command = `trap 'trap "" TERM; sleep 90; exit 0' TERM; echo ready; while true; do sleep 0.2; done`;
    const [task] = await this.running({ id }, { command });
    const read = `sandbox/${task!.taskId.id}/read?path=stdout&offset=0`;
    await waitFor('it to listen', async () => (await this.api.get<{ data: string }>(read)).data.includes('ready'));
    return task!;
  }
}

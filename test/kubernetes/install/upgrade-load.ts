import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Deploy, type Muster, waitForDeploy } from 'muster-client';
import { waitFor } from '../../support/wait-for.js';
import { testImage } from '../lab/image.js';

const patient = { timeoutMillis: 90_000 };
const readEveryMillis = 100;

/** What callers ask for again and again: runs, jobs that run once, deploys of a service, and reads. */
export class UpgradeLoad {
  /** Calls that failed for their callers, and what they had asked for that did not come. */
  readonly failures: string[] = [];
  readonly runs: string[] = [];
  readonly jobs: string[] = [];
  readonly deploys: string[] = [];
  reads = 0;
  private readonly stopping = new AbortController();
  private asking: Promise<unknown> = Promise.resolve();

  /** `starts`: a directory of the nodes, where each task writes its name and id into `log`. */
  constructor(
    private readonly muster: Muster,
    /** Another client, for the reads. */
    private readonly reader: Muster,
    private readonly starts: string,
  ) {}

  async prepare(): Promise<void> {
    await this.muster.requests.save({ body: { id: 'steady', requestType: 'SERVICE', instances: 4 } });
    await this.muster.requests.save({ body: { id: 'moving', requestType: 'SERVICE', instances: 2 } });
    await this.muster.requests.save({ body: { id: 'job', requestType: 'ON_DEMAND' } });
    await this.deploy('job', 'v0', 'exit 0');
    for (const id of ['steady', 'moving']) {
      await this.deploy(id, 'v0', 'exec sleep 100000');
      expectSuccess(await waitForDeploy(this.muster, { requestId: id, deployId: 'v0' }, { timeoutMs: 90_000 }));
    }
  }

  start(): void {
    this.asking = Promise.all([
      this.repeat((n) => this.run(n)),
      this.repeat((n) => this.once(n)),
      this.repeat((n) => this.move(n + 1)),
      this.repeat(() => this.read()),
    ]);
  }

  /** What is under way ends first. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.asking;
  }

  /** Names of the tasks that have started, one for each start, and their ids. */
  started = (): { name: string; taskId: string }[] =>
    readFileSync(`${this.starts}/log`, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => ({ name: line.split(' ')[0]!, taskId: line.split(' ')[1]! }));

  private async repeat(work: (n: number) => Promise<void>): Promise<void> {
    for (let n = 0; !this.stopping.signal.aborted; n++)
      await work(n).catch((cause: Error) => void this.failures.push(`${cause.name}: ${cause.message}`));
  }

  private async run(n: number): Promise<void> {
    const runId = `run-${n}`;
    this.runs.push(runId);
    await this.muster.requests.run({ requestId: 'job', body: { runId, envOverrides: { NAME: runId } } });
    await this.hasStarted(runId);
  }

  private async once(n: number): Promise<void> {
    const id = `once-${n}`;
    this.jobs.push(id);
    await this.muster.requests.save({ body: { id, requestType: 'RUN_ONCE' } });
    await this.deploy(id, 'v0', 'exit 0');
    await this.hasStarted(id);
  }

  private async move(n: number): Promise<void> {
    const deployId = `v${n}`;
    await this.deploy('moving', deployId, 'exec sleep 100000');
    this.deploys.push(deployId);
    expectSuccess(await waitForDeploy(this.muster, { requestId: 'moving', deployId }, { timeoutMs: 90_000 }));
  }

  private async read(): Promise<void> {
    await this.reader.requests.get({ requestId: 'steady' });
    await this.reader.tasks.active();
    this.reads += 2;
    await delay(readEveryMillis);
  }

  private hasStarted = (name: string): Promise<unknown> =>
    waitFor(`${name} to start`, () => this.started().some((each) => each.name === name), patient);

  private deploy(requestId: string, id: string, last: string): Promise<unknown> {
    const deploy: Deploy = {
      requestId,
      id,
      shell: true,
      command: `echo "\${NAME:-${requestId}} $TASK_ID" >>/starts/log; ${last}`,
      containerInfo: {
        type: 'DOCKER',
        docker: { image: testImage, privileged: false, network: 'BRIDGE' },
        volumes: [{ containerPath: '/starts', hostPath: this.starts, mode: 'RW' }],
      },
      resources: { cpus: 0.05, memoryMb: 32 },
      considerHealthyAfterRunningForSeconds: 0,
      killGracePeriodMillis: 1_000,
    };
    return this.muster.deploys.start({ body: { deploy } });
  }
}

function expectSuccess(ended: { succeeded: boolean; state: string }): void {
  if (!ended.succeeded) throw new Error(`A deploy has ended as ${ended.state}`);
}

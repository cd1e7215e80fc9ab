import { Inject, Injectable, Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { CLUSTER_DRIVER, MachineUnreachableError, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { mostOutputBytes, type Outputs, outputsFile, readOutputs } from '../../core/flows/index.js';
import type { RunWithOutputs } from '../../modules/flows/flow-run.repository.js';
import { inParallel } from '../../platform/async.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';

const everyMs = 2_000;
const runsPerPass = 500;
const machinesAtOnce = 20;
/** Time that a machine has to be there again, after which the followers run without what the task told. */
const patienceMillis = 60_000;
/** Working directories of tasks, below their sandboxes. */
const folders = ['', 'app/'];

/**
 * Reads what ended runs have written for those that follow them. Machines are asked outside of any transaction, and before the followers
 * go into their queues, so that each starts with it.
 */
@Injectable()
export class FlowOutputs {
  private readonly log = new Logger(FlowOutputs.name);

  constructor(
    pollers: Pollers,
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly wake: Wake,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {
    pollers.register({
      name: 'flow-outputs',
      essential: true,
      everyMs,
      wakeOn: ['flows'],
      pass: (now) => this.runOnce(now),
    });
  }

  async runOnce(now: number): Promise<void> {
    const runs = await this.rows.flowRuns.withOutputs(this.db.leaderPool, runsPerPass);
    await inParallel(runs, machinesAtOnce, async (run) => {
      const outputs = await this.outputsOf(run, now);
      if (!outputs) return;
      if (outputs.problem) this.log.warn(`Task '${run.taskId}' tells its followers nothing: ${outputs.problem}`);
      await this.db.leaderTransaction((tx) => this.rows.flowRuns.saveOutputs(tx, run, outputs));
      this.wake.signal('scheduler');
    });
  }

  /** undefined: the machine may still be there again. */
  private async outputsOf(run: RunWithOutputs, now: number): Promise<Outputs | undefined> {
    const { taskId, slaveId, endedAt } = run;
    if (slaveId === undefined) return { values: {} };
    try {
      return readOutputs(await this.read(taskId, slaveId));
    } catch (cause) {
      if (!(cause instanceof MachineUnreachableError)) {
        tellFailure(this.log, `What task '${taskId}' tells its followers cannot be read`, cause);
      }
      if (now - endedAt < patienceMillis) return undefined;
      return { values: {}, problem: `slave '${slaveId}' could not be asked for ${outputsFile}` };
    }
  }

  private async read(taskId: string, slaveId: string): Promise<Buffer | undefined> {
    const sandbox = await this.inTime(slaveId, this.driver.sandbox(taskId, slaveId, 'OF_TASK'));
    for (const folder of sandbox ? folders : []) {
      // One byte more than it may have shows that it is too long.
      const found = await this.inTime(slaveId, sandbox!.read(folder + outputsFile, 0, mostOutputBytes + 1));
      if (found) return found.data;
    }
    return undefined;
  }

  private async inTime<T>(slaveId: string, answer: Promise<T>): Promise<T> {
    const waiting = new AbortController();
    const late = delay(this.settings.sandboxHttpTimeoutMillis, undefined, { signal: waiting.signal, ref: false }).then(
      () => {
        throw new MachineUnreachableError(slaveId);
      },
    );
    late.catch(() => undefined);
    return Promise.race([answer, late]).finally(() => waiting.abort());
  }
}

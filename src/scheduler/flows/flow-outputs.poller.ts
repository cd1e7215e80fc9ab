import { Inject, Injectable, Logger } from '@nestjs/common';
import {
  answerInTime,
  CLUSTER_DRIVER,
  MachineUnreachableError,
  type ClusterDriver,
} from '../../cluster/cluster-driver.js';
import { mostOutputBytes, type Outputs, outputsFile, readOutputs } from '../../core/flows/index.js';
import { groupBy } from '../../core/group-by.js';
import type { RunWithOutputs, ToldRun } from '../../modules/flows/flow-run.repository.js';
import { inParallel } from '../../platform/async.js';
import { commitLazily } from '../../platform/database/commit-lazily.js';
import { Database } from '../../platform/database/database.js';
import { Pollers } from '../../platform/poller/pollers.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { tellFailure } from '../../platform/tell-failure.js';
import { Wake } from '../../platform/wake/wake.js';
import { Rows } from '../../rows.js';
import { BatchLanes } from '../batch-lanes.js';

const everyMs = 2_000;
const runsPerPass = 500;
const machinesAtOnce = 20;
/** Time that a machine has to be there again, after which the followers run without what the task told. */
const patienceMillis = 60_000;
/** A machine that was away is asked again after this time: one that hangs would delay the others in each pass. */
const awayMillis = 10_000;
/** Working directories of tasks, below their sandboxes. */
const folders = ['', 'app/'];

/**
 * Reads what ended runs have written for those that follow them. Machines are asked outside of any transaction, and before the followers
 * go into their queues, so that each starts with it.
 */
@Injectable()
export class FlowOutputs {
  private readonly log = new Logger(FlowOutputs.name);
  /** Machines answer one by one; what they answer is written together. */
  private readonly told = new BatchLanes<ToldRun>(runsPerPass, 1, (told) => this.save(told));
  /** Machines that were away, by the time at which each is asked again. */
  private readonly away = new Map<string, number>();

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
    for (const [slaveId, again] of this.away) if (again <= now) this.away.delete(slaveId);
    const runs = await this.rows.flowRuns.withOutputs(this.db.leaderPool, runsPerPass, [...this.away.keys()]);
    const byMachine = groupBy(runs, ({ slaveId }) => slaveId);
    await inParallel([...byMachine], machinesAtOnce, async ([slaveId, ofMachine]) => {
      const told = await this.ask(slaveId, ofMachine, now);
      for (const { taskId, problem } of told)
        if (problem !== undefined) this.log.warn(`Task '${taskId}' tells its followers nothing: ${problem}`);
      await this.told.add(slaveId ?? '', told);
    });
  }

  /** Should the database lose this commit, they are read once more. */
  private async save(told: readonly ToldRun[]): Promise<void> {
    await this.db.leaderTransaction(async (tx) => {
      await commitLazily(tx);
      await this.rows.flowRuns.saveOutputs(tx, told);
    });
    this.wake.signal('scheduler');
  }

  /** One after the other. A machine that is away may be there again soon: then nothing is told of what it has. */
  private async ask(slaveId: string | undefined, runs: readonly RunWithOutputs[], now: number): Promise<ToldRun[]> {
    if (slaveId === undefined) return runs.map((run) => ({ ...run, values: {} }));
    const told: ToldRun[] = [];
    let isAway = false;
    for (const run of runs) {
      const outputs: Outputs | 'AWAY' | 'FAILED' = isAway ? 'AWAY' : await this.outputsOf(run.taskId, slaveId);
      isAway = outputs === 'AWAY';
      if (isAway) this.away.set(slaveId, now + awayMillis);
      if (typeof outputs === 'object') told.push({ ...run, ...outputs });
      else if (now - run.endedAt >= patienceMillis) {
        told.push({ ...run, values: {}, problem: `slave '${slaveId}' could not be asked for ${outputsFile}` });
      }
    }
    return told;
  }

  /** AWAY: the machine cannot be asked, for other tasks of it neither. */
  private async outputsOf(taskId: string, slaveId: string): Promise<Outputs | 'AWAY' | 'FAILED'> {
    try {
      return readOutputs(await this.read(taskId, slaveId));
    } catch (cause) {
      if (cause instanceof MachineUnreachableError) return 'AWAY';
      tellFailure(this.log, `What task '${taskId}' tells its followers cannot be read`, cause);
      return 'FAILED';
    }
  }

  private async read(taskId: string, slaveId: string): Promise<Buffer | undefined> {
    const millis = this.settings.sandboxHttpTimeoutMillis;
    const sandbox = await answerInTime(slaveId, millis, () => this.driver.sandbox(taskId, slaveId, 'OF_TASK'));
    for (const folder of sandbox ? folders : []) {
      // One byte more than it may have shows that it is too long.
      const found = await answerInTime(slaveId, millis, () =>
        sandbox!.read(folder + outputsFile, 0, mostOutputBytes + 1),
      );
      if (found) return found.data;
    }
    return undefined;
  }
}

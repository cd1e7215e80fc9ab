import { Injectable, Logger } from '@nestjs/common';
import type { LaunchAnswer } from '../../cluster/cluster-driver.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { PendingTask } from '../../core/model/task.js';
import { isCountedStart } from '../../core/pending-work/index.js';
import { Rows } from '../../rows.js';
import { Clock } from '../../platform/clock.js';
import { commitLazily } from '../../platform/database/commit-lazily.js';
import { Database } from '../../platform/database/database.js';
import type { Transaction } from '../../platform/database/transaction.js';
import { Wake } from '../../platform/wake/wake.js';
import { BatchLanes } from '../batch-lanes.js';
import { RecentTasks } from '../placement/recent-tasks.service.js';
import { SetAsideTasks } from '../placement/set-aside.service.js';
import type { Report } from '../status/report.js';
import { StatusUpdates } from '../status/status-updates.service.js';

/** Agents answer one by one; what they answer is written together. */
const answersPerTransaction = 500;

type Answer<Outcome extends LaunchAnswer['outcome']> = Extract<LaunchAnswer, { outcome: Outcome }>;

/** Records what machines answered to launches. */
@Injectable()
export class LaunchAnswers {
  private readonly log = new Logger(LaunchAnswers.name);

  private readonly acceptances = new BatchLanes<Answer<'ACCEPTED'>>(answersPerTransaction, 1, (accepted) =>
    this.db.leaderTransaction((tx) => this.accepted(tx, accepted)),
  );

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly status: StatusUpdates,
    private readonly recent: RecentTasks,
    private readonly setAside: SetAsideTasks,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** Answers of one agent to the launches of the given specs. UNKNOWN ones change nothing. */
  async record(answers: readonly LaunchAnswer[], specs: ReadonlyMap<string, LaunchSpec>): Promise<void> {
    const accepted = answers.filter((answer): answer is Answer<'ACCEPTED'> => answer.outcome === 'ACCEPTED');
    const [first] = accepted;
    if (first) await this.acceptances.add(first.taskId, accepted);
    for (const answer of answers) {
      const spec = specs.get(answer.taskId);
      if (answer.outcome === 'PORT_IN_USE' && spec) await this.portInUse(answer, spec);
      if (answer.outcome === 'DISK_FULL' && spec) await this.placeAgain(spec, 'its disk is almost full');
      if (answer.outcome === 'ID_IN_USE' && spec) await this.placeAgain(spec, 'it knows the id from another launch');
      if (answer.outcome === 'NOT_ADMITTED' && spec)
        await this.placeAgain(spec, answer.reason, (pending) =>
          this.setAside.notAdmitted(pending, answer.reason, this.clock.now()),
        );
      if (answer.outcome === 'REFUSED' && spec) await this.refused(answer, spec);
    }
  }

  private async accepted(tx: Transaction, answers: readonly Answer<'ACCEPTED'>[]): Promise<void> {
    await commitLazily(tx);
    await this.rows.taskLaunches.accepted(tx, answers, this.clock.now());
  }

  private async portInUse({ port }: Answer<'PORT_IN_USE'>, spec: LaunchSpec): Promise<void> {
    this.recent.portTaken(spec.slaveId, port, this.clock.now());
    await this.placeAgain(spec, `its port ${port} is in use`);
  }

  /** Nothing runs and nothing ever will under this id: the pending task comes back, is prepared, and is placed anew. */
  private async placeAgain(
    spec: LaunchSpec,
    because: string,
    prepare: (pending: PendingTask) => void = () => undefined,
  ): Promise<void> {
    const { taskId, slaveId } = spec;
    const outcome = await this.db.leaderTransaction((tx) => this.takeBack(tx, spec, prepare));
    this.log.warn(`Slave '${slaveId}' does not start task '${taskId}', which is placed again: ${because}`);
    if (outcome === 'UNWANTED') {
      const message = 'Ended before it started: it had to go already';
      await this.status.concluded([this.end(spec, { state: 'TASK_KILLED', message })]);
    }
    this.wake.signal('scheduler');
  }

  private async takeBack(
    tx: Transaction,
    { taskId, requestId }: LaunchSpec,
    prepare: (pending: PendingTask) => void,
  ): Promise<'DONE' | 'UNWANTED'> {
    await this.rows.requests.lock(tx, requestId);
    const [task] = await this.rows.tasks.find(tx, { taskIds: [taskId], lock: 'REMOVAL' });
    if (!task) return 'DONE';
    if (task.cleaning !== undefined || task.killed) return 'UNWANTED';
    const { request, pendingTask: pending } = await this.rows.taskLaunches.launchedFor(tx, taskId);
    prepare(pending);
    await this.rows.pendingTasks.insert(tx, [pending]);
    if (isCountedStart(request, pending)) await this.rows.requestTimings.takeStartBack(tx, requestId);
    await this.rows.tasks.removeLive(tx, [taskId]);
    return 'DONE';
  }

  private async refused({ reason }: Answer<'REFUSED'>, spec: LaunchSpec): Promise<void> {
    this.log.warn(`Slave '${spec.slaveId}' refuses task '${spec.taskId}': ${reason}`);
    const message = `Refused by its slave: ${reason}`;
    // Counts as a failure, so that a deploy that no slave takes cools down instead of being tried again and again.
    await this.status.concluded([this.end(spec, { state: 'TASK_LOST', message, reason: 'REASON_TASK_INVALID' })]);
  }

  private end({ taskId, slaveId }: LaunchSpec, how: Pick<Report, 'state' | 'message' | 'reason'>): Report {
    return { taskId, slaveId, timestamp: this.clock.now(), ...how };
  }
}

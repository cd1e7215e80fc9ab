import { Inject, Injectable, Logger } from '@nestjs/common';
import { CLUSTER_DRIVER, type ClusterDriver } from '../../cluster/cluster-driver.js';
import { GatheredWarning } from '../../platform/gathered-warning.js';
import { Leadership } from '../../platform/leadership/leadership.js';
import type { Report } from './report.js';

/** A task that runs although it is not wanted gets this long to end by itself. */
const graceMillis = 60_000;

/** Ends tasks that run on a machine although no row wants them to. */
@Injectable()
export class UnwantedTasks {
  private readonly log = new Logger(UnwantedTasks.name);
  private readonly notKilled = new GatheredWarning((line) => this.log.warn(line));

  constructor(
    private readonly leadership: Leadership,
    @Inject(CLUSTER_DRIVER) private readonly driver: ClusterDriver,
  ) {}

  /** Asked once; reconciliation finds them again if this does not get through. */
  kill(tasks: readonly Pick<Report, 'taskId' | 'slaveId' | 'state'>[]): void {
    const epoch = this.leadership.current();
    if (epoch === undefined) return;
    for (const { taskId, slaveId, state } of tasks) {
      this.log.warn(`Task '${taskId}' on slave '${slaveId}' is ${state} but is not wanted: killing it`);
      this.driver.kill(taskId, slaveId, graceMillis, epoch).catch((cause: unknown) => {
        this.notKilled.note(`Task '${taskId}' could not be killed: ${String(cause)}`);
      });
    }
  }
}

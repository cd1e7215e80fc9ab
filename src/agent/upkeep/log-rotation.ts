import type { TaskContext } from '../tasks/task-context.js';
import type { TaskLogs } from '../logs/task-logs.js';

/** So many tasks have their logs rotated at a time: all of them are due at midnight. */
const mostAtOnce = 4;

interface RotatedTask {
  spec: { taskId: string };
  isRunning: boolean;
  logs: TaskLogs;
}

/** Rotates the logs of running tasks when they are due. */
export class LogRotation {
  constructor(
    private readonly context: Pick<TaskContext, 'now' | 'log' | 'stopping' | 'endedLogs'>,
    private readonly tasks: { live(): RotatedTask[] },
  ) {}

  /** One look at all tasks; what is begun goes on beside it. */
  async check(): Promise<void> {
    const running = this.tasks.live().filter((run) => run.isRunning);
    let busy = running.filter((run) => run.logs.isBusy).length;
    for (const run of running) {
      if (busy >= mostAtOnce) return;
      if (await this.rotate(run)) busy++;
    }
  }

  /** Logs of tasks that have ended, one after the other. What is not done when the agent stops is found by the next clean-up. */
  async compressEnded(): Promise<void> {
    const { endedLogs, stopping } = this.context;
    for (let logs = endedLogs.shift(); logs && !stopping.aborted; logs = endedLogs.shift()) await logs.compressAll();
  }

  private async rotate(run: RotatedTask): Promise<boolean> {
    return run.logs.rotateIfDue(this.context.now()).catch((cause: unknown) => {
      this.context.log.error(`Logs of task ${run.spec.taskId}`, cause);
      return false;
    });
  }
}

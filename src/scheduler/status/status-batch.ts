import { statusChange, statusText } from '../../core/completion/index.js';
import type { TaskId } from '../../core/model/task.js';
import type { ReportedTask, TaskAdvance } from '../../modules/tasks/task-status.repository.js';
import type { Report } from './report.js';

/** A task whose end is being recorded. */
export interface TaskEnd {
  taskId: TaskId;
  report: Report;
}

/** The tasks of a batch while its reports are taken one after the other: what is to be written, and what follows. */
export class StatusBatch {
  readonly recorded: Report[] = [];
  readonly advances = new Map<string, TaskAdvance>();
  readonly ends: TaskEnd[] = [];
  /** Tasks that run although they are not wanted. */
  readonly strangers: Report[] = [];
  /** Tasks that were given up and are alive. */
  readonly returned: Report[] = [];
  /** Tasks whose launch document is gone. */
  readonly dataless: Report[] = [];

  /** By task id; changed by `take`. */
  constructor(
    private readonly tasks: ReadonlyMap<string, ReportedTask>,
    private readonly now: number,
  ) {}

  taskId(id: string): TaskId {
    return this.tasks.get(id)!.taskId;
  }

  take(given: Report): void {
    const task = this.tasks.get(given.taskId);
    const report = task
      ? { ...given, message: statusText(given, task), timestamp: this.possible(given.timestamp, task) }
      : given;
    const change = statusChange(task, report);
    if (change.kind === 'kill') this.strangers.push(report);
    if (change.kind === 'recover') this.returned.push(report);
    if (change.kind !== 'record' || !task) return;
    if (!task.hasData) {
      this.dataless.push(report);
      return;
    }
    this.recorded.push(report);
    if (change.ends) this.ends.push({ taskId: task.taskId, report });
    if (change.advances) Object.assign(task, { state: report.state, stateAt: report.timestamp, ended: change.ends });
    this.advance(task, report);
  }

  /** Whatever the clock of its machine said: a whole number, not before its launch, nor in the future. */
  private possible(time: number, { taskId }: ReportedTask): number {
    return Math.floor(Math.max(Math.min(time, this.now), Math.min(taskId.startedAt, this.now)));
  }

  private advance(task: ReportedTask, { taskId, state, timestamp, directory }: Report): void {
    const former = this.advances.get(taskId);
    this.advances.set(taskId, {
      taskId,
      state: task.state,
      stateAt: task.stateAt,
      runningAt: state === 'TASK_RUNNING' ? timestamp : former?.runningAt,
      endedAt: task.ended ? timestamp : undefined,
      directory: former?.directory ?? directory,
    });
  }
}

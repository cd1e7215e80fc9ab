import {
  afterChange,
  mayRunAfter,
  returnOf,
  statusChange,
  statusText,
  type TaskReturn,
} from '../../core/completion/index.js';
import { groupBy } from '../../core/group-by.js';
import { isTerminal } from '../../core/model/enums.js';
import type { TaskId } from '../../core/model/task.js';
import type { ReportedTask, TaskAdvance } from '../../modules/tasks/task-status.repository.js';
import type { Report } from './report.js';

/** A task whose end is being recorded. */
export interface TaskEndReport {
  taskId: TaskId;
  report: Report;
}

/** The tasks of a batch while its reports are taken one after the other: what is to be written, and what follows. */
export class StatusBatch {
  /** Reports of known tasks, with times and texts as they are recorded. */
  readonly reports: readonly Report[];
  readonly recorded: Report[] = [];
  readonly advances = new Map<string, TaskAdvance>();
  readonly ends: TaskEndReport[] = [];
  /** By task id: the newest message of one that is still starting. */
  readonly retold = new Map<string, Report>();
  /** Tasks whose launch document is gone. */
  readonly dataless: Report[] = [];
  /** Given up tasks that may run, or do not any more, by task id: what their rows do not say yet. */
  readonly mayRun = new Map<string, boolean>();
  private readonly unwanted = new Map<string, Report>();

  /** By task id; changed by `take`. */
  constructor(
    private readonly tasks: Map<string, ReportedTask>,
    given: readonly Report[],
    private readonly now: number,
  ) {
    this.reports = given.map((report) => this.asRecorded(report));
  }

  /** Tasks that run although they are not wanted. */
  get unexpected(): Report[] {
    return [...this.unwanted.values()];
  }

  taskId(id: string): TaskId {
    return this.tasks.get(id)!.taskId;
  }

  /** Tasks that were given up, and of which their machine tells. */
  returns(): TaskReturn<Report>[] {
    const ended = this.reports.filter(({ taskId }) => this.tasks.get(taskId)?.ended && this.tasks.get(taskId)?.hasData);
    return [...groupBy(ended, ({ taskId }) => taskId)].flatMap(
      ([taskId, reports]) => returnOf(this.tasks.get(taskId)!, reports) ?? [],
    );
  }

  /** It was given up, is alive, and cannot go on. */
  refuse(report: Report): void {
    this.unwanted.set(report.taskId, report);
  }

  /** It was given up, and its rows say by now that it goes on from there. */
  lives(taskId: string, now: Pick<ReportedTask, 'state' | 'stateAt'>): void {
    this.tasks.set(taskId, { ...this.tasks.get(taskId)!, ...now, ended: false, mayRun: false });
  }

  take(told: Report): void {
    const known = this.tasks.get(told.taskId);
    const change = statusChange(known, told);
    // A kubelet tells whole seconds: what follows a state would stand before it.
    const isBefore = known && change.kind === 'record' && change.advances && told.timestamp < known.stateAt;
    const report = isBefore ? { ...told, timestamp: known.stateAt } : told;
    const task = known && this.doubted(known, report);
    // One that has ended by the end of the batch need not be killed.
    if (change.kind === 'kill') this.unwanted.set(report.taskId, report);
    else if (isTerminal(report.state)) this.unwanted.delete(report.taskId);
    if (change.kind === 'retell') this.retold.set(report.taskId, report);
    if (change.kind === 'recover' && !task?.hasData) this.dataless.push(report);
    if (change.kind !== 'record' || !task) return;
    if (!task.hasData) {
      this.dataless.push(report);
      return;
    }
    this.recorded.push(report);
    if (change.ends) this.ends.push({ taskId: task.taskId, report });
    const after = afterChange(task, report, change);
    const advanced = change.advances ? { ...after, stateAt: report.timestamp } : after;
    this.tasks.set(report.taskId, advanced);
    this.advance(advanced, report);
  }

  /** The task after what the report says of whether it may run. */
  private doubted(task: ReportedTask, report: Report): ReportedTask {
    const mayRun = task.hasData && mayRunAfter(task, report);
    if (mayRun === task.mayRun) return task;
    const after = { ...task, mayRun };
    this.tasks.set(report.taskId, after);
    this.mayRun.set(report.taskId, mayRun);
    return after;
  }

  private asRecorded(report: Report): Report {
    const task = this.tasks.get(report.taskId);
    if (!task) return report;
    return { ...report, message: statusText(report, task), timestamp: this.possible(report.timestamp, task) };
  }

  /**
   * A possible time, whatever the clock of its machine said: a whole number, not before its launch, nor in the future.
   */
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

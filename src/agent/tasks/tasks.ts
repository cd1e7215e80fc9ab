import { readdir } from 'node:fs/promises';
import type { AgentTaskList } from '../../cluster/cluster-driver.js';
import { isTerminal, type TaskState } from '../../core/model/enums.js';
import { inParallel, KeyedQueue } from '../../platform/async.js';
import type { TaskContext } from './task-context.js';
import { TaskDirectory } from '../state/task-directory.js';
import type { TaskRun } from './task-run.js';

const archivedAtOnce = 50;

/** The tasks of an agent that have not been archived: live ones, and ended ones that wait to be acknowledged. */
export class Tasks {
  private readonly runs = new Map<string, TaskRun>();
  /** Everything that may start a task or forbid its start: one after the other for each task. */
  readonly decisions = new KeyedQueue();
  private readonly archiving = new KeyedQueue();

  constructor(private readonly context: TaskContext) {}

  add(run: TaskRun): void {
    this.runs.set(run.spec.taskId, run);
  }

  /** One that came to nothing. */
  remove(run: TaskRun): void {
    this.runs.delete(run.spec.taskId);
  }

  find(taskId: string): TaskRun | undefined {
    return this.runs.get(taskId);
  }

  /** Tasks whose end is not on disk yet. */
  live(): TaskRun[] {
    return [...this.runs.values()].filter((run) => !isTerminal(run.state));
  }

  /** State of a task that is known, in any state; undefined: never heard of, or forgotten. */
  async stateOf(taskId: string): Promise<TaskState | undefined> {
    const run = this.runs.get(taskId);
    return run ? run.state : (await TaskDirectory.ended(this.context.directory, taskId).readEnd())?.state;
  }

  /** By which launch the task came that is or was here. */
  async launchIdOf(taskId: string): Promise<string | undefined> {
    const run = this.runs.get(taskId);
    if (run) return run.spec.launchId;
    const ended = TaskDirectory.ended(this.context.directory, taskId);
    return (await ended.readLaunch())?.spec.launchId ?? (await ended.readEnd())?.launchId;
  }

  /**
   * Launches that were begun before are in the list: a launch under way is either decided first or carries a later
   * epoch.
   */
  async list(): Promise<Omit<AgentTaskList, 'agentId' | 'incarnation'>> {
    await this.decisions.settled();
    return {
      asOfUpdate: this.context.updates.last,
      acknowledged: this.context.updates.acknowledged,
      tasks: [...this.runs.values()].map((run) => ({ taskId: run.spec.taskId, state: run.state })),
    };
  }

  /** Everything up to this update is stored by the scheduler. Ended tasks among them move aside, then the updates go. */
  acknowledge(number: number): Promise<void> {
    const { updates } = this.context;
    if (number <= updates.acknowledged) return Promise.resolve();
    return this.archiving.run('', async () => {
      await inParallel(updates.endsUpTo(number), archivedAtOnce, ({ taskId, state }) => this.archive(taskId, state));
      await updates.acknowledge(number);
    });
  }

  private async archive(taskId: string, state: TaskState): Promise<void> {
    const { directory } = this.context;
    const live = TaskDirectory.live(directory, taskId);
    await this.runs.get(taskId)?.finished;
    // After a crash it may have moved already, while the update was still there.
    if (await live.exists()) {
      await live.saveEnd({ state, acknowledgedAt: Date.now() });
      await live.moveTo(TaskDirectory.ended(directory, taskId));
    }
    this.runs.delete(taskId);
  }

  /** Directories of tasks that an earlier agent left. */
  async directoriesOnDisk(): Promise<TaskDirectory[]> {
    const { tasks } = this.context.directory;
    return (await readdir(tasks)).map((name) => TaskDirectory.at(`${tasks}/${name}`));
  }

  /** Resolves when every task has ended. */
  async killAll(graceMillis: number): Promise<void> {
    const live = this.live();
    await Promise.all(live.map((run) => run.requestKill(graceMillis)));
    await Promise.all(live.map((run) => run.finished));
  }

  /** Leaves all tasks to the next agent. Resolves when nothing is under way any more; `stopping` was aborted before. */
  async detach(): Promise<void> {
    await this.decisions.settled();
    for (const run of this.runs.values()) run.detach();
    await Promise.allSettled(
      [...this.runs.values()].flatMap((run) => [run.finished, run.commands.settled(), run.logs.settled()]),
    );
    await this.archiving.settled();
  }
}

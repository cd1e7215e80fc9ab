import type { ProcessIdentity, ProcessStat } from '../processes/process-identity.js';
import { processesOf, type TaskMark } from '../processes/processes.js';
import { AgentStops } from '../state/updates-log.js';
import type { StartedTask } from '../state/task-directory.js';

/** The processes of one task as far as its agent knows them by now, and the two moments that the work around them ends with. */
export class TaskProcesses {
  shim: ProcessIdentity | undefined;
  started: StartedTask | undefined;
  private readonly known: TaskMark['known'] = new Map();
  /** Aborted by a kill, and when the agent stops. */
  readonly preparing = new AbortController();
  /** Aborted when the shim has gone, and when the agent stops. */
  readonly over = new AbortController();

  constructor(
    private readonly sandbox: string,
    private readonly group: { pids(): number[] | undefined },
    /** Leaves out what is none of them, of the processes in the sandbox or the group; absent: nothing. */
    private readonly includes?: TaskMark['includes'],
  ) {}

  get isRunning(): boolean {
    return this.started !== undefined && !this.over.signal.aborted;
  }

  /** Pid of the task's own program, while it runs. */
  get runningPid(): number | undefined {
    return this.isRunning ? this.started?.main.pid : undefined;
  }

  /** All of them but the shim. */
  list(): ProcessStat[] {
    return processesOf(this.mark());
  }

  /** Lists only processes outside of the task's cgroup, as programs of an engine are. */
  listUngrouped(): ProcessStat[] {
    return processesOf({ ...this.mark(), cgroupPids: () => undefined });
  }

  mark(): TaskMark {
    const { shim, sandbox, known, group, includes } = this;
    return { shim, sandbox, cgroupPids: () => group.pids(), hasStarted: this.started !== undefined, known, includes };
  }

  /** The next agent takes them up. */
  detach(): void {
    this.preparing.abort(new AgentStops());
    this.over.abort(new AgentStops());
  }
}

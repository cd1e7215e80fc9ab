import type { LaunchSpec } from '../../core/model/launch.js';
import type { TaskContext } from './task-context.js';
import type { TaskContainer } from '../containers/task-container.js';
import { type Sandbox, whenHealthFileComes } from '../sandbox/sandbox-layout.js';
import { programName } from '../shim/command.js';
import { isSuccess } from './outcome.js';
import type { StatusReports } from './status-reports.js';
import { beganAt } from '../processes/process-identity.js';
import type { SavedKill, StartedTask, TaskExit } from '../state/task-directory.js';
import type { TaskKill } from './task-kill.js';

interface StartedRun {
  spec: LaunchSpec;
  sandbox: Sandbox;
  reports: StatusReports;
  /** undefined: it is processes of the machine. */
  container: TaskContainer | undefined;
  kill: TaskKill;
  /** Aborted when its shim has gone, and when the agent stops. */
  over: AbortSignal;
  endNow(because: SavedKill['because']): Promise<void>;
  readExit(): Promise<TaskExit | undefined>;
  /** For work that is not waited for. */
  beside(work: Promise<void>): void;
}

/**
 * Reports that a task runs, once: its program has begun, its container is up, and its health file is there. Without such a file it runs
 * since its first process began, however late the agent comes to see that; no task runs only after its end.
 */
export class RunningReport {
  constructor(
    private readonly context: TaskContext,
    private readonly task: StartedRun,
  ) {}

  get isAwaitingHealthFile(): boolean {
    return this.task.spec.healthcheckResultFile !== undefined && !this.isReported;
  }

  async report(started: StartedTask): Promise<void> {
    const { container, spec, sandbox, over } = this.task;
    if (container && !(await this.containerRuns(container))) return;
    if (this.isReported) return;
    const file = spec.healthcheckResultFile;
    if (!file) return this.send(started, beganAt(container?.main ?? started.main));
    const answer = await whenHealthFileComes(file, sandbox, beganAt(started.main), over);
    if (answer === 'FOUND') await this.send(started, (await this.task.readExit())?.at, ', health file found');
    if (answer === 'TOO_LATE') await this.task.endNow({ healthFileMissingAfterSeconds: file.timeoutSeconds });
  }

  /** A program that had ended before the first look, or ended well before its result file came, has run all the same. */
  async reportUnseen(started: StartedTask, exitCode: number | undefined, endedAt?: number): Promise<void> {
    if (this.isReported || this.task.kill.isAsked) return;
    if (this.isAwaitingHealthFile && !isSuccess(exitCode ?? 1, this.task.spec.successfulExitCodes)) return;
    const isPlain = !this.task.container && !this.isAwaitingHealthFile;
    await this.send(started, isPlain ? beganAt(started.main) : endedAt);
  }

  private get isReported(): boolean {
    return this.task.reports.state === 'TASK_RUNNING';
  }

  /** False: it does not, or not any more. */
  private async containerRuns(container: TaskContainer): Promise<boolean> {
    const { over, kill, endNow, beside } = this.task;
    const answer = await container.whenRunning(over);
    if (answer === 'LATE') {
      const { dockerClientTimeLimitSeconds: seconds } = this.context.settings.containers;
      await endNow({ containerMissingAfterSeconds: seconds });
    }
    if (answer !== 'RUNNING') return false;
    beside(container.whenForgotten(over).then((isForgotten) => (isForgotten ? kill.endByForce() : undefined)));
    return true;
  }

  private async send(started: StartedTask, at: number | undefined, addition = ''): Promise<void> {
    const { reports, spec, container } = this.task;
    const pid = container?.mainPid ?? started.main.pid;
    await reports.send('TASK_RUNNING', `Running ${programName(spec)} (pid ${pid})${addition}`, { at });
  }
}

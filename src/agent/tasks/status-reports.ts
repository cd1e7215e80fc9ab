import type { ProgramReport, ShellCommandReport, StatusUpdate } from '../../cluster/cluster-driver.js';
import type { TaskState } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { type UpdatesLog, appendPatiently } from '../state/updates-log.js';
import { cut } from '../../platform/files.js';

/** The status updates of one task. */
export class StatusReports {
  constructor(
    private readonly context: Pick<AgentContext, 'settings' | 'log' | 'stopping'> & { updates: UpdatesLog },
    private readonly spec: LaunchSpec,
    private readonly directory: string,
  ) {}

  /** The newest state on disk. */
  get state(): TaskState {
    return this.context.updates.latest(this.spec.taskId)?.state ?? 'TASK_STARTING';
  }

  /** Resolves when the update is on disk. `at`: when it happened, by the monotonic clock; now unless given. */
  send(
    state: TaskState,
    message: string,
    { reason, exitCode, at }: { reason?: string; exitCode?: number; at?: number } = {},
  ): Promise<void> {
    const text = cut(message, this.context.settings.maxTaskMessageLength);
    return this.append(state, { state, message: text, reason, exitCode }, at);
  }

  /** Sends a report about a command of the task. */
  sendCommand(shellCommand: ShellCommandReport): Promise<void> {
    return this.append(`${shellCommand.updateType} of a command`, { state: this.state, shellCommand });
  }

  /** Sends the state of a program around the main one. */
  sendProgram(program: ProgramReport): Promise<void> {
    const message = program.message && cut(program.message, this.context.settings.maxTaskMessageLength);
    return this.append(`${program.state} of ${program.name}`, { state: this.state, program: { ...program, message } });
  }

  private append(
    what: string,
    content: Pick<StatusUpdate, 'state' | 'message' | 'reason' | 'exitCode' | 'shellCommand' | 'program'>,
    at?: number,
  ): Promise<void> {
    const { taskId, slaveId } = this.spec;
    return appendPatiently(this.context, what, { taskId, slaveId, directory: this.directory, ...content }, at);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { ShellCommandReport, StatusUpdate } from '../../cluster/cluster-driver.js';
import type { TaskState } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import type { AgentContext } from '../agent-context.js';
import { cut } from './outcome.js';
import type { NewUpdate } from './updates-log.js';

const retryMillis = 1_000;

/** The agent stops: whatever was under way is taken up by the next agent, from what is on disk. */
export class AgentStops extends Error {}

/** The status updates of one task. */
export class StatusReports {
  constructor(
    private readonly context: AgentContext,
    private readonly spec: LaunchSpec,
    private readonly directory: string,
  ) {}

  /** The newest state on disk. */
  get state(): TaskState {
    return this.context.updates.latest(this.spec.taskId)?.state ?? 'TASK_STARTING';
  }

  /** Resolves when the update is on disk. `at`: when it happened, by the monotonic clock; now unless given. */
  send(state: TaskState, message: string, { reason, at }: { reason?: string; at?: number } = {}): Promise<void> {
    const text = cut(message, this.context.settings.maxTaskMessageLength);
    return this.append(state, { state, message: text, reason }, at);
  }

  /** The same for what becomes of a command of the task. */
  sendCommand(shellCommand: ShellCommandReport): Promise<void> {
    return this.append(`${shellCommand.updateType} of a command`, { state: this.state, shellCommand });
  }

  private append(
    what: string,
    content: Pick<StatusUpdate, 'state' | 'message' | 'reason' | 'shellCommand'>,
    at?: number,
  ): Promise<void> {
    const { taskId, slaveId } = this.spec;
    return appendPatiently(this.context, what, { taskId, slaveId, directory: this.directory, ...content }, at);
  }
}

/** Resolves when the update is on disk. The disk may be full for a while; the update is not lost to that. Throws AgentStops. */
export async function appendPatiently(
  { updates, log, stopping }: Pick<AgentContext, 'updates' | 'log' | 'stopping'>,
  what: string,
  update: NewUpdate,
  at?: number,
): Promise<void> {
  for (;;) {
    if (stopping.aborted) throw new AgentStops();
    try {
      return await updates.append(update, at);
    } catch (cause) {
      log.error(`Task ${update.taskId}: cannot write down ${what}, trying again`, cause);
      await delay(retryMillis);
    }
  }
}

import type { LaunchSpec } from '../../core/model/launch.js';
import type { TaskContext } from './task-context.js';
import type { TaskGroup } from '../cgroups/cgroups.js';
import type { TaskContainer } from '../containers/task-container.js';
import { messageOf } from '../../platform/files.js';
import type { TaskLogs } from '../logs/task-logs.js';
import type { RunAs } from '../processes/run-as.js';
import { closeSandbox, type Sandbox } from '../sandbox/sandbox-layout.js';
import type { TaskCommands } from '../shell-commands/task-commands.js';
import type { TaskOutcome } from './outcome.js';
import type { StatusReports } from './status-reports.js';

interface EndingTask {
  spec: LaunchSpec;
  sandbox: Sandbox;
  group: TaskGroup;
  commands: TaskCommands;
  logs: TaskLogs;
  reports: StatusReports;
  /** undefined: the agent's own user. */
  runAs: RunAs | undefined;
  container: TaskContainer | undefined;
}

/** Puts everything of a task in order of which no process is left, and reports how it ended; `at`: when, by the monotonic clock. */
export async function endTask(
  context: TaskContext,
  task: EndingTask,
  { state, message, reason, exitCode, at }: TaskOutcome & { at?: number },
): Promise<void> {
  const { spec, group, commands, logs, reports, container } = task;
  const warn = (text: string) => context.log.warn(`Task ${spec.taskId}: ${text}`);
  const tryTo = (what: string, work: Promise<void>) =>
    work.catch((cause: unknown) => warn(`could not ${what}: ${messageOf(cause)}`));
  // What became of them is told before the end, after which no update of this task is taken any more.
  await commands.endAll();
  await tryTo('put its logs in order', logs.finish());
  if (container && !(await container.remove()) && !context.stopping.aborted)
    warn('its container may be left; it is removed when the engine does so again');
  await retireUser(context, task, (work) => tryTo('close the sandbox', work));
  await reports.send(state, message, { reason, exitCode, at });
  await tryTo('remove the cgroup', group.remove());
  context.endedLogs.push(logs);
}

/** Nothing of the task runs any more, and no later task with the same user can read what it left. */
async function retireUser(
  { users }: TaskContext,
  { runAs, sandbox, commands, container, group }: EndingTask,
  tryToClose: (work: Promise<void>) => Promise<void>,
): Promise<void> {
  if (!runAs) return;
  // What runs in a cgroup has been found there, but commands run outside of it.
  if (runAs.own && (container || commands.hasRunAny || group.pids() === undefined)) await users.killAll(runAs);
  await tryToClose(closeSandbox(sandbox));
  users.release(runAs);
}

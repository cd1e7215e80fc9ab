import { isTerminal } from '../core/model/enums.js';
import type { AgentContext } from './agent-context.js';
import { messageOf } from './files.js';
import { fileNameOf, type TaskFolder } from './task-folder.js';
import { TaskRun } from './task-run.js';
import type { Tasks } from './tasks.js';

/** Takes up the tasks that an earlier agent left: nothing is started again, everything that ended is reported. */
export async function adoptTasks(context: AgentContext, tasks: Tasks): Promise<void> {
  for (const folder of await tasks.foldersOnDisk()) {
    const run = await adoptTask(context, folder);
    if (run) tasks.add(run);
  }
  await removeForgottenGroups(context, tasks);
}

async function adoptTask(context: AgentContext, folder: TaskFolder): Promise<TaskRun | undefined> {
  const launch = await folder.readLaunch();
  if (!launch) {
    // The agent ended before the launch was on disk: it was never accepted, and may still come.
    await folder.remove();
    return undefined;
  }
  const run = new TaskRun(context, launch.spec);
  if (isTerminal(run.state)) return run;
  if (launch.bootId !== context.bootId) {
    run.giveUp({ state: 'TASK_LOST', message: 'The machine was restarted', reason: 'REASON_AGENT_RESTARTED' });
    return run;
  }
  await run.adopt();
  return run;
}

/** Cgroups of tasks that were reported as ended just before the agent ended: nothing is left in them. */
async function removeForgottenGroups({ cgroups, log }: AgentContext, tasks: Tasks): Promise<void> {
  const live = new Set(tasks.live().map((run) => fileNameOf(run.spec.taskId)));
  for (const name of cgroups.names().filter((group) => !live.has(group)))
    await cgroups
      .group(name)
      .remove()
      .catch((cause: unknown) => log.warn(`Cannot remove the cgroup ${name}: ${messageOf(cause)}`));
}

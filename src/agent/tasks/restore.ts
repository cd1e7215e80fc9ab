import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isTerminal } from '../../core/model/enums.js';
import type { TaskContext } from './task-context.js';
import type { Log } from '../../platform/log.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import type { Cgroups } from '../cgroups/cgroups.js';
import { messageOf } from '../../platform/files.js';
import { isLive, type ProcessStat, readStat } from '../processes/process-identity.js';
import { processesUnder, signal } from '../processes/processes.js';
import { closeSandbox } from '../sandbox/sandbox-layout.js';
import { fileNameOf, type TaskDirectory } from '../state/task-directory.js';
import { createTaskRun } from './create-task-run.js';
import type { TaskRun } from './task-run.js';
import type { Tasks } from './tasks.js';

/** Takes up the tasks that an earlier agent left: nothing is started again, everything that ended is reported. */
export async function restoreTasks(context: TaskContext, tasks: Tasks): Promise<void> {
  for (const directory of await tasks.directoriesOnDisk()) {
    const run = await restoreTask(context, directory);
    if (run) tasks.add(run);
  }
  await removeForgottenGroups(context, tasks);
}

async function restoreTask(context: TaskContext, directory: TaskDirectory): Promise<TaskRun | undefined> {
  const launch = await directory.readLaunch();
  if (!launch) {
    // The agent ended before the launch was on disk: it was never accepted, and may still come.
    await directory.remove();
    return undefined;
  }
  const runAs = await context.users.restore(launch.runAs, launch.spec.user);
  const run = createTaskRun(context, launch.spec, runAs);
  if (isTerminal(run.state)) return run;
  if (runAs) context.users.keep(runAs);
  if (launch.bootId !== context.bootId) {
    run.giveUp({ state: 'TASK_LOST', message: 'The machine was restarted', reason: 'REASON_AGENT_RESTARTED' });
    return run;
  }
  await run.restore();
  return run;
}

/** Cgroups of tasks that were reported as ended just before the agent ended: nothing is left in them. */
async function removeForgottenGroups({ cgroups, log }: TaskContext, tasks: Tasks): Promise<void> {
  const live = new Set(tasks.live().map((run) => fileNameOf(run.spec.taskId)));
  for (const name of cgroups.names().filter((group) => !live.has(group)))
    await cgroups
      .group(name)
      .remove()
      .catch((cause: unknown) => log.warn(`Cannot remove the cgroup ${name}: ${messageOf(cause)}`));
}

/** The random id of the directory. A directory without one remembers nothing: what ran from here must not run on unseen. */
export async function currentIncarnation(directory: AgentDirectory, cgroups: Cgroups, log: Log): Promise<string> {
  const existing = await directory.readIncarnation();
  if (existing) return existing;
  const killed = await killLeftovers(directory, cgroups);
  if (killed > 0) log.warn(`Ended ${killed} processes of unknown tasks`);
  for (const old of [directory.tasks, directory.ended, directory.tombstones])
    await rm(old, { recursive: true, force: true });
  await rm(directory.updates, { force: true });
  await directory.makeDirectories();
  for (const sandboxes of directory.allSandboxes)
    for (const name of await readdir(sandboxes)) await closeSandbox({ root: join(sandboxes, name) });
  // Last: should this be interrupted, the next agent begins with it again.
  return directory.createIncarnation();
}

const pauseMillis = 20;

/** A process that SIGKILL does not end by then hangs in the kernel and will never be a task again. */
const giveUpAfterMillis = 30_000;

/**
 * Ends every process that an agent on this directory ever started, shims first of all. For a directory that has no record of
 * them any more: their end could not be reported.
 */
async function killLeftovers(directory: AgentDirectory, cgroups: Cgroups): Promise<number> {
  const killed = new Set<string>();
  const deadline = performance.now() + giveUpAfterMillis;
  while (performance.now() < deadline) {
    const found = leftovers(directory, cgroups);
    if (found.length === 0) break;
    for (const process of found) {
      killed.add(`${process.pid} ${process.startTime}`);
      signal(process, 'SIGKILL');
    }
    await delay(pauseMillis);
  }
  // A group that stays is made use of again, or not at all.
  for (const name of cgroups.names())
    await cgroups
      .group(name)
      .remove()
      .catch(() => undefined);
  return killed.size;
}

function leftovers(directory: AgentDirectory, cgroups: Cgroups): ProcessStat[] {
  const inGroups = cgroups.names().flatMap((name) => cgroups.group(name).pids() ?? []);
  const inSandboxes = directory.allSandboxes.flatMap((sandboxes) => processesUnder(sandboxes));
  return [...inSandboxes, ...inGroups.map(readStat).filter(isLive)];
}

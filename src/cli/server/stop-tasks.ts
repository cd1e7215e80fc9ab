import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterDriver, KillAnswer } from '../../cluster/cluster-driver.js';
import type { TaskRepository } from '../../modules/tasks/task.repository.js';
import type { Database } from '../../platform/database/database.js';
import type { Leadership } from '../../platform/leadership/leadership.js';
import type { Pollers } from '../../platform/poller/pollers.js';

/** Added to the grace of the most patient task: the time its end may take to be reported and stored. */
const reportMillis = 10_000;
const lookEveryMillis = 100;

interface StopTasksContext {
  database: Database;
  tasks: TaskRepository;
  driver: ClusterDriver;
  leadership: Leadership;
  pollers: Pollers;
}

/**
 * Ends all tasks, each with its own grace, and waits until their last status is stored. Nothing new starts meanwhile,
 * because the pollers have stopped. Answers what came of it.
 */
export async function stopTasks({ database, tasks, driver, leadership, pollers }: StopTasksContext): Promise<string> {
  await pollers.stop();
  const epoch = leadership.current();
  if (epoch === undefined) return 'left running, because another instance leads';
  const active = await tasks.toEnd(database.pool);
  const answers = await Promise.all(
    active.map(({ taskId, slaveId, killGraceMillis }) =>
      driver.kill(taskId, slaveId, killGraceMillis, epoch).catch((): KillAnswer => 'UNKNOWN'),
    ),
  );
  const ending = active.filter((_task, index) => answers[index] === 'KILLING');
  const unknown = answers.filter((answer) => answer === 'UNKNOWN').length;

  const longestGrace = Math.max(0, ...ending.map((task) => task.killGraceMillis));
  const deadline = performance.now() + longestGrace + reportMillis;
  let left = ending.length;
  while (left > 0 && performance.now() < deadline) {
    await delay(lookEveryMillis);
    const ids = ending.map((task) => task.taskId);
    left = await tasks.countActive(database.pool, ids);
  }
  const parts = [`${ending.length - left} stopped`];
  if (left > 0) parts.push(`${left} did not end in time`);
  if (unknown > 0) parts.push(`${unknown} out of reach`);
  // The agent is asked nothing from here on, so that it can go.
  await leadership.stop();
  return parts.join(', ');
}

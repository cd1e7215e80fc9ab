import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterDriver, KillAnswer } from '../cluster/cluster-driver.js';
import type { Database } from '../platform/database/database.js';
import { rows } from '../platform/database/sql.js';
import type { Leadership } from '../platform/leadership/leadership.js';
import type { Pollers } from '../platform/poller/pollers.js';

/** Added to the grace of the most patient task: the time its end may take to be reported and stored. */
const reportMillis = 10_000;
const lookEveryMillis = 100;

export interface StopTasksContext {
  database: Database;
  driver: ClusterDriver;
  leadership: Leadership;
  pollers: Pollers;
}

interface RunningTask {
  task_id: string;
  slave_id: string;
  grace: number | null;
}

/**
 * Ends all tasks, each with its own grace, and waits until their last status is stored. Nothing new starts meanwhile,
 * because the pollers have stopped. Answers what came of it.
 */
export async function stopTasks({ database, driver, leadership, pollers }: StopTasksContext): Promise<string> {
  await pollers.stop();
  const epoch = leadership.current();
  if (epoch === undefined) return 'left running, because another instance leads';
  const running = await rows<RunningTask>(
    database.manager,
    `SELECT task_id, slave_id, (document->'launch'->>'killGraceMillis')::float8 AS grace
     FROM task JOIN task_launch USING (task_id) WHERE ended_at IS NULL`,
  );
  const answers = await Promise.all(
    running.map((task) =>
      driver.kill(task.task_id, task.slave_id, task.grace ?? 0, epoch).catch((): KillAnswer => 'UNKNOWN'),
    ),
  );
  const ending = running.filter((_task, index) => answers[index] === 'KILLING');
  const unknown = answers.filter((answer) => answer === 'UNKNOWN').length;

  const longestGrace = Math.max(0, ...ending.map((task) => task.grace ?? 0));
  const deadline = performance.now() + longestGrace + reportMillis;
  let left = ending.length;
  while (left > 0 && performance.now() < deadline) {
    await delay(lookEveryMillis);
    const [count] = await rows<{ n: number }>(
      database.manager,
      'SELECT count(*) AS n FROM task WHERE ended_at IS NULL AND task_id = ANY ($1)',
      [ending.map((task) => task.task_id)],
    );
    left = count!.n;
  }
  const parts = [`${ending.length - left} stopped`];
  if (left > 0) parts.push(`${left} did not end in time`);
  if (unknown > 0) parts.push(`${unknown} out of reach`);
  // Nobody asks the agent anything from here on, so that it can go.
  await leadership.stop();
  return parts.join(', ');
}

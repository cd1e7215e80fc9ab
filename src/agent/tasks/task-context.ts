import type { Cgroups } from '../cgroups/cgroups.js';
import type { ContainerContext } from '../containers/start-container.js';
import type { LogContext } from '../logs/records.js';
import type { TaskLogs } from '../logs/task-logs.js';
import type { UpdatesLog } from '../state/updates-log.js';

/** Context shared by all tasks of an agent. */
export interface TaskContext extends ContainerContext, Pick<LogContext, 'finishedUploads'> {
  updates: UpdatesLog;
  cgroups: Cgroups;
  /** Logs of tasks that have ended which are still to be compressed. */
  endedLogs: TaskLogs[];
}

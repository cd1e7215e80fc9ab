import type { AgentFolder } from './agent-folder.js';
import type { Cgroups } from './cgroups/cgroups.js';
import type { Log } from './log.js';
import type { LocalClusterSettings } from './settings.js';
import type { ShimScripts } from './shim-scripts.js';
import type { UpdatesLog } from './updates-log.js';

/** What all tasks of an agent share. */
export interface AgentContext {
  folder: AgentFolder;
  updates: UpdatesLog;
  cgroups: Cgroups;
  scripts: ShimScripts;
  settings: LocalClusterSettings;
  log: Log;
  bootId: string;
  /** Search path of tasks whose environment does not name one. */
  searchPath: string;
  /** The shell that reads the start script of tasks with executorData. */
  shell: string;
  /** Aborted when the agent stops. Its tasks run on, and whatever was under way for them is taken up by the next agent. */
  stopping: AbortSignal;
}

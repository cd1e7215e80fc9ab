import type { AgentDirectory } from './state/agent-directory.js';
import type { Log } from '../platform/log.js';
import type { LocalClusterSettings } from './settings.js';

/** The facts of an agent that hold while it runs. Values alone: a room that needs a service beside them names it in a type of its own. */
export interface AgentContext {
  directory: AgentDirectory;
  settings: LocalClusterSettings;
  log: Log;
  bootId: string;
  /** Path of the script that runs a task. */
  shim: string;
  /** Words after `node` that start the program which fetches files. */
  fetchProgram: readonly string[];
  /** Words after `node` that start the program which rotates logs. */
  rotateProgram: readonly string[];
  /** Epoch millis, for what is done by the time: rotation and removal of files. */
  now(): number;
  /** Search path of tasks whose environment does not name one. */
  searchPath: string;
  /** The shell that reads the start script of tasks with executorData. */
  shell: string;
  /** Aborted when the agent stops. Its tasks run on, and whatever was under way for them is taken up by the next agent. */
  stopping: AbortSignal;
}

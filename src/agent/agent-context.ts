import type { AgentFolder } from './agent-folder.js';
import type { ArtifactCache } from './artifacts/cache.js';
import type { Cgroups } from './cgroups/cgroups.js';
import type { EngineWatch } from './containers/engine.js';
import type { Images } from './containers/images.js';
import type { Epochs } from './wire/epochs.js';
import type { Launcher } from './tasks/launch.js';
import type { Machines } from './machine/machines.js';
import type { Removals } from './machine/removals.js';
import type { LocalClusterSettings } from './settings.js';
import type { TaskLogs } from './logs/task-logs.js';
import type { TaskUsers } from './machine/task-users.js';
import type { Tasks } from './tasks/tasks.js';
import type { Tombstones } from './tasks/tombstones.js';
import type { UploadCounts } from './uploads/upload-counts.js';
import type { UpdatesLog } from './tasks/updates-log.js';

/** What all tasks of an agent share. */
export interface AgentContext {
  folder: AgentFolder;
  updates: UpdatesLog;
  cgroups: Cgroups;
  /** Path of the script that runs a task. */
  shim: string;
  users: TaskUsers;
  /** What runs containers here. */
  engines: EngineWatch;
  /** The images that it has pulled for tasks. */
  images: Images;
  settings: LocalClusterSettings;
  log: Log;
  bootId: string;
  artifacts: ArtifactCache;
  /** Words after `node` that start the program which fetches files. */
  fetchProgram: readonly string[];
  /** Words after `node` that start the program which rotates logs. */
  rotateProgram: readonly string[];
  /** Logs of tasks that have ended which are still to be compressed. */
  endedLogs: TaskLogs[];
  removals: Removals;
  uploads: UploadCounts;
  /** Records of tasks that have ended, to be uploaded at once; undefined: the agent uploads nothing. */
  finishedUploads: Set<string> | undefined;
  /** Epoch millis, for what is done by the time: rotation and removal of files. */
  now(): number;
  /** Search path of tasks whose environment does not name one. */
  searchPath: string;
  /** The shell that reads the start script of tasks with executorData. */
  shell: string;
  /** Aborted when the agent stops. Its tasks run on, and whatever was under way for them is taken up by the next agent. */
  stopping: AbortSignal;
}

/** Where the agent says what it does. The scheduler's logger fits, and so does a test's list. */
export interface Log {
  info(message: string): void;
  warn(message: string): void;
  error(message: string, cause?: unknown): void;
}

/** What answers calls. */
export interface AgentParts {
  context: AgentContext;
  tasks: Tasks;
  tombstones: Tombstones;
  epochs: Epochs;
  launcher: Launcher;
  machines: Machines;
  /** Ends the agent after the answer is out. */
  shutdown(): void;
}

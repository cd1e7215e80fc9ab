/** Order to the program that rotates the logs of one task: one line of JSON. */
export interface RotateOrder {
  /** The sandbox, by a path that the user gets through. */
  root: string;
  /** Directory of the cgroup with all processes that may write there; absent: its writers are found by other marks. */
  group?: string;
  /** The user to become first. Absent: it stays as it is. */
  user?: { uid: number; gid: number };
  /** The user is the task's own. */
  isOwnUser: boolean;
  /** Path below the sandbox of the file that says how far a rotation has come. */
  journal: string;
  logs: readonly LogToRotate[];
  compression: Compression;
  /** After which the program gives up. */
  seconds: number;
}

export interface LogToRotate {
  /** Below the sandbox. */
  path: string;
  /** Directory of the results, below the sandbox. */
  into: string;
  /** Name of the result, without the extension of the compression. */
  name: string;
}

export interface Compression {
  /** Absent: gzip, by the program itself. */
  command?: string;
  options: readonly string[];
  /** Without the dot. */
  extension: string;
}

/** Order to the program that compresses file 3 into file 4. */
export interface CompressOrder {
  user?: { uid: number; gid: number };
  compress: Compression;
  seconds: number;
}

export interface RotateAnswer {
  /** Paths of logs that were emptied. */
  rotated?: string[];
  /** Logs whose writers would not stand still: they are unchanged. */
  busy?: string[];
  /** Path of the log at which it gave up: nothing is known of those after it. */
  failed?: string;
  trouble?: string;
}

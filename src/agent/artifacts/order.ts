import type { ClusterArtifact, EmbeddedArtifact, ExternalArtifact } from '../../core/model/deploy.js';
import type { ArtifactStoreSettings } from '../../platform/settings/artifact-settings.js';

/** Preparation failed because of what the deploy asked for; anything else that fails is the agent's own trouble. */
export class DeployFault extends Error {
  constructor(
    message: string,
    options?: ErrorOptions,
    /** As in a status update. */
    readonly reason = 'REASON_CONTAINER_LAUNCH_FAILED',
  ) {
    super(message, options);
  }
}

export const tooMuchDisk = 'REASON_CONTAINER_LIMITATION_DISK';

interface Order {
  /** The user to become first. Absent: it stays as it is. */
  user?: { uid: number; gid: number };
  limits: FetchLimits;
}

/** Order to the program that fills the sandbox of one task: one line of JSON. */
export interface TaskOrder extends Order {
  kind: 'FILL';
  /** The sandbox. */
  root: string;
  /** Everyone who gets to the sandbox may read and write: the task is a user that only its image knows. */
  isOpenToAll?: boolean;
  downloads: readonly WithFileNumber<ClusterArtifact>[];
  /** Directory for them, relative to the sandbox. Absent: the sandbox itself. */
  downloadsTo?: string;
  /** Files of executorData, for the task's directory. Both paths are relative to the sandbox. */
  executor?: {
    directory: string;
    log: string;
    /** Lines for files of the task's directory, such as executor.log. */
    notes: readonly Note[];
    embedded: readonly EmbeddedArtifact[];
    /** Files of the object store, then those of other servers; each list of artifacts adds its own behind them. */
    remote: readonly WithFileNumber<RemoteFile>[];
  };
}

export interface Note {
  file: string;
  text: string;
}

/** `kept`: the number under which the program has the file open. Absent: it fetches the file itself. */
export type WithFileNumber<Artifact> = Artifact & { cached?: number };

/** An artifact of executorData, wherever it comes from. */
export type RemoteFile = Pick<ExternalArtifact, 'filename' | 'filesize' | 'md5sum' | 'targetFolderRelativeToTask'> & {
  url?: string;
};

/** Order to the same program for the agent's cache: one file, as `content` in a directory of the program's user. */
export interface CacheOrder extends Order {
  kind: 'KEEP';
  root: string;
  /** As messages call it. */
  name: string;
  source: ArtifactSource;
  filesize?: number;
  md5sum?: string;
}

export type ArtifactSource = { url: string } | BucketObject;

export interface BucketObject {
  bucket: string;
  key: string;
  /** Without the keys of other buckets. */
  store: Omit<ArtifactStoreSettings, 'objstoreBucketCredentials'>;
}

export type FetchOrder = TaskOrder | CacheOrder;

export interface FetchLimits {
  /** Limit of one fetched file. */
  artifactBytes: number;
  /** Limit of everything in the sandbox, unpacked. */
  totalBytes: number;
  /** True when the total limit is the disk of the task, and not a limit for all tasks. */
  isTaskDisk?: boolean;
  files: number;
  /** Time for everything that the task fetches and unpacks. */
  seconds: number;
  /** Directories whose files may be copied. */
  allowedPaths: readonly string[];
  /** Stays free on the disk. */
  reservedBytes: number;
  verifyTls: boolean;
  /** Name of the section of these settings, for messages, such as cluster.local. */
  section: string;
}

/** The answer, one line of JSON. No fault and no trouble: everything is in its place. */
export interface FetchResult {
  /** The deploy is to blame. */
  fault?: string;
  reason?: string;
  /** This machine is. */
  trouble?: string;
  /** Checksum of a file for the cache. */
  md5?: string;
}

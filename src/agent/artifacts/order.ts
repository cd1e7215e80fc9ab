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

/** What the agent asks of the program that fills the sandbox of one task: one line of JSON. */
export interface TaskOrder extends Order {
  kind: 'FILL';
  /** The sandbox. */
  root: string;
  downloads: readonly Kept<ClusterArtifact>[];
  /** Of executorData, for the task's folder (below the sandbox). */
  executor?: {
    folder: string;
    log: string;
    /** Lines for files of the task's folder, such as executor.log. */
    notes: readonly Note[];
    embedded: readonly EmbeddedArtifact[];
    /** Of the object store, then those of other servers; each list of artifacts adds its own behind them. */
    remote: readonly Kept<RemoteFile>[];
  };
}

export interface Note {
  file: string;
  text: string;
}

/** `kept`: the number under which the program has the file open. Absent: it fetches the file itself. */
export type Kept<Artifact> = Artifact & { kept?: number };

/** An artifact of executorData, wherever it comes from. */
export type RemoteFile = Pick<ExternalArtifact, 'filename' | 'filesize' | 'md5sum' | 'targetFolderRelativeToTask'> & {
  url?: string;
};

/** What the agent asks of the same program for its cache: one file, as `content` in a folder of the program's user. */
export interface KeepOrder extends Order {
  kind: 'KEEP';
  root: string;
  /** As messages call it. */
  name: string;
  source: Source;
  filesize?: number;
  md5sum?: string;
}

export type Source = { url: string } | StoredObject;

export interface StoredObject {
  bucket: string;
  key: string;
  /** Without the keys of other buckets. */
  store: Omit<ArtifactStoreSettings, 'objstoreBucketCredentials'>;
}

export type FetchOrder = TaskOrder | KeepOrder;

export interface FetchLimits {
  /** Of one file that is fetched. */
  artifactBytes: number;
  /** Of everything in the sandbox, unpacked. */
  totalBytes: number;
  /** What all of it may take is the disk of the task, and not a limit for all tasks. */
  isTaskDisk?: boolean;
  files: number;
  /** Of everything that the task fetches and unpacks. */
  seconds: number;
  /** Folders whose files may be copied. */
  allowedPaths: readonly string[];
  /** Stays free on the disk. */
  reservedBytes: number;
  verifyTls: boolean;
}

/** The answer, one line of JSON. No fault and no trouble: everything is in its place. */
export interface FetchAnswer {
  /** The deploy is to blame. */
  fault?: string;
  reason?: string;
  /** This machine is. */
  trouble?: string;
  /** Of a file for the cache. */
  md5?: string;
}

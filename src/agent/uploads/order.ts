/** Order to the program that uploads files to buckets: one line of JSON. */
export interface UploadOrder {
  /** The user to become first. Absent: it stays as it is. */
  user?: { uid: number; gid: number };
  store: { endpoint?: string; region: string; usePathStyle?: boolean };
  files: readonly FileToUpload[];
  atOnce: number;
  bytesPerSecond: number;
  /** Larger files go in parts of that size. */
  singleBytes: number;
  partBytes: number;
  tries: number;
  waitMillis: number;
  /** Time for which the store may be silent. */
  idleMillis: number;
}

export interface FileToUpload {
  /** The number under which the program has the file open. */
  file: number;
  bucket: string;
  key: string;
  size: number;
  /** Id of the file as it is, among all files of all tasks: an object that carries it is this file. */
  id: string;
  keys?: { accessKeyId: string; secretAccessKey: string };
  storageClass?: string;
  contentType?: string;
  contentEncoding?: string;
}

/**
 * Reach of a failure. STORE: no other file would go there now. FILE: the store refuses this one, because of its size, its key or its
 * storage class, and would do so again. LOOK: of this attempt alone, such as when the file changes meanwhile.
 */
export type FailureReach = 'STORE' | 'FILE' | 'LOOK';

export type UploadOutcome =
  | { kind: 'DONE' }
  /** Another object has the key. */
  | { kind: 'TAKEN' }
  | { kind: 'FAILED'; reason: string; reach: FailureReach };

/** The answer: an outcome for each file, in their order. */
export interface UploadAnswer {
  outcomes?: UploadOutcome[];
  trouble?: string;
}

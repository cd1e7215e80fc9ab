import type { ObjstoreUploaderFile } from './deploy.js';

/** A file of a task in the object store. */
export interface ObjstoreLogMetadata {
  key: string;
  /** Epoch milliseconds, as the two below. */
  lastModified: number;
  /** Bytes. */
  size: number;
  startTime?: number;
  endTime?: number;
}

export interface ObjstoreLog extends ObjstoreLogMetadata {
  /** Shows the file. Valid for a while, for all who have it. */
  getUrl?: string;
  /** Saves it under its own name. */
  downloadUrl?: string;
}

/** Position of a search below one prefix of a bucket. */
export interface ContinuationToken {
  /** Absent: nothing was asked there yet. */
  value?: string;
  /** There is nothing more. */
  lastPage: boolean;
}

export interface ObjstoreSearchRequest {
  /** Deploy ids by request id; an empty list means all of the request. */
  requestsAndDeploys?: Record<string, string[]>;
  taskIds?: string[];
  /** Only what lies in these times, in epoch milliseconds. */
  start?: number;
  end?: number;
  excludeMetadata?: boolean;
  listOnly?: boolean;
  maxPerPage?: number;
  continuationTokens?: Record<string, ContinuationToken>;
  fileNamePrefixWhitelist?: string[];
}

export interface ObjstoreSearchResult {
  results: ObjstoreLog[];
  continuationTokens: Record<string, ContinuationToken>;
  lastPage: boolean;
}

/** A bucket and who may read it; without keys: what this process is to the store. */
export interface ObjstoreBucket {
  objstoreBucket: string;
  objstoreAccessKey?: string;
  objstoreSecretKey?: string;
}

/** Buckets and keys of the logs of tasks. */
export interface ObjstoreLayout extends ObjstoreBucket {
  objstoreKeyFormat: string;
  /** By group of a request: where its logs are, in place of the bucket above. */
  groupOverrides: Record<string, ObjstoreBucket>;
  /** By group of a request: where else to look. */
  groupObjstoreSearchConfigs: Record<string, ObjstoreBucket>;
  objstoreUploaderAdditionalFiles: ObjstoreUploaderFile[];
  /** Buckets that files of a deploy or a run may name. */
  allowedUploaderBuckets: string[];
}

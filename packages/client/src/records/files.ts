import { type Int32, type Int64, record } from '../schema.js';

/**
 * A file of a task in the object store. Members that were not noted are left out. The links are for all who have
 * them, valid for a day unless configured otherwise.
 */
export interface ObjstoreLogMetadata {
  /** When it was written, in epoch milliseconds. */
  lastModified: Int64;
  /** Its size in bytes. */
  size: Int64;
  /** When the first line of it was written, in epoch milliseconds. */
  startTime?: Int64;
  /** When the last line of it was written, in epoch milliseconds. */
  endTime?: Int64;
  /** Shows the file; left out with list or listOnly. An addition of version 1.5 of this API. */
  getUrl?: string;
  /** Saves the file as it is stored; left out with list or listOnly. An addition of version 1.5 of this API. */
  downloadUrl?: string;
  /** Its key in the bucket. */
  key: string;
}

/** The same, as an element of a list. */
export interface ObjstoreLog {
  /** When it was written, in epoch milliseconds. */
  lastModified: Int64;
  /** Its size in bytes. */
  size: Int64;
  /** When the first line of it was written, in epoch milliseconds. */
  startTime?: Int64;
  /** When the last line of it was written, in epoch milliseconds. */
  endTime?: Int64;
  /** Shows the file; left out with list or listOnly. An addition of version 1.5 of this API. */
  getUrl?: string;
  /** Saves the file as it is stored; left out with list or listOnly. An addition of version 1.5 of this API. */
  downloadUrl?: string;
  /** Its key in the bucket. */
  key: string;
}
export const ObjstoreLog = record<ObjstoreLog>('ObjstoreLog');

/** How far a search has come in one place. */
export interface ContinuationToken {
  /** Where to go on; absent: at the start. */
  value?: string;
  /** There is nothing more in this place. */
  lastPage: boolean;
}

/** Whose logs to search. At least one of requestsAndDeploys and taskIds must name something. */
export interface ObjstoreSearchRequest {
  /** Deploy ids by request id; an empty list means all of the request. */
  requestsAndDeploys?: Record<string, string[]>;
  /** Ids of tasks. */
  taskIds?: string[];
  /** Only logs from this time on, in epoch milliseconds. */
  start?: Int64;
  /** Only logs until this time, in epoch milliseconds. */
  end?: Int64;
  /** How many results to look for; default 10. A page can be longer when several places answer at once. */
  maxPerPage?: Int32;
  /** As the page before answered them; absent: the first page. */
  continuationTokens?: Record<string, ContinuationToken>;
  /** Only files whose key, or the last part of it, begins with one of these. */
  fileNamePrefixWhitelist?: string[];
  /** Leave out startTime and endTime, which take a call to the store for each file. */
  excludeMetadata?: boolean;
  /** Leave out the links: only files and metadata. */
  listOnly?: boolean;
}
export const ObjstoreSearchRequest = record<ObjstoreSearchRequest>('ObjstoreSearchRequest');

/** A page of results. */
export interface ObjstoreSearchResult {
  /** How far the search has come; to be sent along for the next page. */
  continuationTokens: Record<string, ContinuationToken>;
  /** What was found, the newest first. */
  results: ObjstoreLogMetadata[];
  /** Nothing is left to be found. */
  lastPage: boolean;
}
export const ObjstoreSearchResult = record<ObjstoreSearchResult>('ObjstoreSearchResult');

/** A file or folder of a task. */
export interface SandboxFile {
  /** When it was changed last, in whole seconds since 1970. */
  mtime: Int64;
  /** Its size in bytes. */
  size: Int64;
  /** Its name in the folder. */
  name: string;
  /** Kind and permissions, as ls -l shows them; a folder begins with d. */
  mode: string;
}

/** One folder of a task. A file's path on the machine is fullPathToRoot/currentDirectory/name. */
export interface Sandbox {
  /** What the folder holds, by name; empty when there is no such folder. */
  files: SandboxFile[];
  /** Absolute path of the sandbox on the machine. */
  fullPathToRoot: string;
  /** The folder, below the sandbox. */
  currentDirectory: string;
  /** Name of the machine. */
  slaveHostname: string;
}
export const Sandbox = record<Sandbox>('Sandbox');

/** Part of a file. */
export interface ClusterFileChunkObject {
  /** Position of its first byte in the file. */
  offset: Int64;
  /** Where to read on. */
  nextOffset: Int64;
  /** The text, without the fragments of characters at its ends. */
  data: string;
}
export const ClusterFileChunkObject = record<ClusterFileChunkObject>('ClusterFileChunkObject');

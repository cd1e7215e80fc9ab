import type { FileHandle } from 'node:fs/promises';
import type { UploadRecord } from '../logs/upload-record.js';
import type { FoundFile } from './found-files.js';
import type { FailureReach } from './order.js';

/** One file on its way to the store. */
export interface Upload {
  record: UploadRecord;
  file: FoundFile;
  handle: FileHandle;
  key: string;
  /** It may be there under this key already, whole. */
  again: boolean;
  /** True when another file has the key, as far as the agent knows. */
  isTaken(key: string): boolean;
  /** Awaited before the first byte goes out under this key. */
  begin(key: string): Promise<void>;
  /** It is in the store. */
  end(): Promise<void>;
  /** It is not, for now. */
  fail(reason: string, reach: FailureReach): void;
}

export interface UploadStore {
  /** Calls `end` or `fail` of each, or neither when the agent stops. */
  uploadAll(uploads: readonly Upload[], signal: AbortSignal): Promise<void>;
  /** It takes no larger file, ever. */
  readonly mostBytes?: number;
  readonly kept?: { bytes: number; objects: number; removed: number };
  /** From time to time. */
  sweep?(now: number, signal: AbortSignal): Promise<void>;
}

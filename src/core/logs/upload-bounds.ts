import type { ObjstoreUploaderFile } from '../model/deploy.js';
import { headOf } from './key-pattern.js';

/** Buckets for files of a deploy or a run, beside the one for all files. */
export interface UploadBounds {
  bucket: string;
  /** Others that a deploy or a run may name. */
  allowedBuckets: readonly string[];
  keyPattern: string;
  /** Files of every task. */
  files: readonly ObjstoreUploaderFile[];
}

/**
 * A file of a deploy or a run, without a bucket that is not for it, or a key that would be among those of other requests:
 * it goes where all others go. So it was uploaded, and so it is looked for.
 */
export function withinBounds(file: ObjstoreUploaderFile, bounds: UploadBounds): ObjstoreUploaderFile {
  const { objstoreUploaderBucket: bucket, objstoreUploaderKeyPattern: pattern, ...rest } = file;
  const patterns = [bounds.keyPattern, ...bounds.files.flatMap((own) => own.objstoreUploaderKeyPattern ?? [])];
  const begins = pattern !== undefined && patterns.some((own) => pattern.startsWith(headOf(own) ?? own));
  const buckets = [bounds.bucket, ...bounds.allowedBuckets, ...bounds.files.map((own) => own.objstoreUploaderBucket)];
  return {
    ...rest,
    ...(bucket !== undefined && buckets.includes(bucket) && { objstoreUploaderBucket: bucket }),
    ...(begins && { objstoreUploaderKeyPattern: pattern }),
  };
}

import { basename } from 'node:path';
import { z } from 'zod';

/** Files to upload. The uploading program removes the record when it is `finished` and nothing is left. */
export const UploadRecord = z.object({
  directory: z.string(),
  fileGlob: z.string(),
  /** Further files, taken when it is finished. */
  onFinishGlob: z.string().optional(),
  objstoreBucket: z.string(),
  objstoreKeyFormat: z.string(),
  /** No more files will appear. */
  finished: z.boolean(),
  uploadImmediately: z.boolean(),
  checkSubdirectories: z.boolean(),
  storageClass: z.string().optional(),
  applyStorageClassIfOverBytes: z.number().optional(),
  /** File name of the task. Absent: it is that of the sandbox. */
  task: z.string().optional(),
  /** The sandbox, in which the directory is, or what else the task's files are in. */
  sandbox: z.string(),
  /** Path of the sandbox as the processes of the task have it; absent: the same. */
  seenAs: z.string().optional(),
  /** The file is what readers of the sandbox look for: it stays. */
  keepsFiles: z.boolean(),
});
export type UploadRecord = z.infer<typeof UploadRecord>;

/** File name of its task. */
export const taskOf = ({ task, sandbox }: UploadRecord): string => task ?? basename(sandbox);

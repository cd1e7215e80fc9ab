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
  /** The sandbox, in which the directory is. */
  sandbox: z.string(),
  /** The file is what readers of the sandbox look for: it stays. */
  keepsFiles: z.boolean(),
});
export type UploadRecord = z.infer<typeof UploadRecord>;

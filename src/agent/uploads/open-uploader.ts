import type { LogSettings } from '../settings.js';
import { Archive, boundsOf } from './archive.js';
import { BucketStore, uploadProgram } from './bucket-store.js';
import { DirectoryStore } from './directory-store.js';
import { Throttle } from './throttle.js';
import { type UploadContext, Uploader } from './uploader.js';

const megabyte = 1024 * 1024;

export const uploadsItself = ({
  uploadTarget,
  uploaderInUse,
}: Pick<LogSettings, 'uploadTarget' | 'uploaderInUse'>): boolean => uploadTarget !== undefined && !uploaderInUse;

/** undefined: nothing is uploaded, or another program does it. */
export async function openUploader(
  context: UploadContext,
  program: readonly string[] = uploadProgram,
): Promise<Uploader | undefined> {
  const { settings, directory } = context;
  const { uploadTarget: target, maxUploadMegabytesPerSecond } = settings;
  if (!target || !uploadsItself(settings)) return undefined;
  if (target.kind === 'BUCKET') return new Uploader(context, new BucketStore(target, settings, program));
  const throttle = new Throttle(maxUploadMegabytesPerSecond * megabyte);
  const place = { root: target.directory ?? directory.archive, ...target.shared };
  return new Uploader(context, new DirectoryStore(await Archive.open(place, boundsOf(target, settings), throttle)));
}

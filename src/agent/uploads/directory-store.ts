import { numberedKey } from '../../core/logs/index.js';
import { errorCode, messageOf } from '../../platform/files.js';
import { type Archive, ArchiveFull } from './archive.js';
import type { FailureReach } from './order.js';
import type { Upload, UploadStore } from './upload-store.js';

const mostNumbers = 1_000;

class NoKeyLeft extends Error {}

function reachOf(cause: unknown): FailureReach {
  const code = errorCode(cause) ?? '';
  if (cause instanceof ArchiveFull || ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'].includes(code)) return 'STORE';
  // The file system takes no such path, or none that is so large.
  return cause instanceof NoKeyLeft || ['ENAMETOOLONG', 'EFBIG'].includes(code) ? 'FILE' : 'LOOK';
}

/** Puts logs into the archive of the agent, one after the other: what tasks do comes first. */
export class DirectoryStore implements UploadStore {
  constructor(private readonly archive: Archive) {}

  get mostBytes(): number {
    return this.archive.bounds.maxBytes;
  }

  get kept() {
    return this.archive;
  }

  async uploadAll(uploads: readonly Upload[], signal: AbortSignal): Promise<void> {
    for (const upload of uploads) {
      if (signal.aborted) return;
      try {
        await this.upload(upload);
      } catch (cause) {
        upload.fail(messageOf(cause), reachOf(cause));
        continue;
      }
      await upload.end();
    }
  }

  sweep(now: number, signal: AbortSignal): Promise<void> {
    return this.archive.sweep(now, signal);
  }

  private async upload({ handle, file, record, again, ...upload }: Upload): Promise<void> {
    const bucket = record.objstoreBucket;
    for (let count = 0; count < mostNumbers; count++) {
      const key = numberedKey(upload.key, count);
      const mayBeMine = again && count === 0;
      if (!mayBeMine && (upload.isTaken(key) || (await this.archive.has(bucket, key)))) continue;
      if (!mayBeMine) await upload.begin(key);
      try {
        return await this.archive.put(handle, file.size, { bucket, key });
      } catch (cause) {
        if (errorCode(cause) !== 'EEXIST') throw cause;
      }
    }
    throw new NoKeyLeft('its key, and each with a number at its end, is taken');
  }
}

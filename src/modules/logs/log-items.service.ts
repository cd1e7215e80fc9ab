import { Injectable } from '@nestjs/common';
import type { ObjstoreBucket, ObjstoreLog } from '../../core/model/logs.js';
import { inParallel } from '../../platform/async.js';
import { SchedulerError } from '../../platform/errors.js';
import { ObjectStore } from './object-store.service.js';
import { type StoredObject } from './log-store-client.js';

export interface FoundObject extends StoredObject {
  bucket: ObjstoreBucket;
}

export interface ItemChoice {
  /** Leave out startTime and endTime, which take a call to the store for each object. */
  excludeMetadata?: boolean;
  /** Leave out the links. */
  list?: boolean;
}

/** Does the work, or ends it and says so when it has taken that long. */
export async function within<T>(
  seconds: number,
  advice: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(seconds * 1_000);
  const tooLate = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () =>
      reject(new SchedulerError('OBJSTORE_TIMEOUT', `The object store took more than ${seconds} s; ${advice}`)),
    );
  });
  const done = work(signal);
  // What is still under way fails as well, and no caller waits for it any more.
  done.catch(() => undefined);
  tooLate.catch(() => undefined);
  return Promise.race([tooLate, done]);
}

const less = 'ask for fewer at once (maxPerPage), without metadata (excludeMetadata) or without links (list)';

/** By name where the times are the same, so that two calls answer the same order. */
export const newestFirst = (objects: readonly FoundObject[]): FoundObject[] =>
  objects.toSorted((a, b) => b.lastModified - a.lastModified || (a.key < b.key ? -1 : 1));

/** Makes of objects what callers get: with the times their writer noted, and links. */
@Injectable()
export class LogItems {
  constructor(private readonly store: ObjectStore) {}

  /** `rootUrl`: the root of this service as the caller reaches it. */
  async describe(objects: readonly FoundObject[], choice: ItemChoice, rootUrl: string): Promise<ObjstoreLog[]> {
    const { maxObjstoreThreads, waitForObjstoreLinksSeconds } = this.store.configured();
    const items = await within(waitForObjstoreLinksSeconds, less, (signal) =>
      inParallel(newestFirst(objects), maxObjstoreThreads, (object) => this.item(object, choice, rootUrl, signal), {
        stopAtFailure: true,
      }),
    );
    return items.flatMap((item) => item ?? []);
  }

  private async item(
    { bucket, key, lastModified, size }: FoundObject,
    choice: ItemChoice,
    rootUrl: string,
    signal: AbortSignal,
  ): Promise<ObjstoreLog> {
    signal.throwIfAborted();
    const noted = choice.excludeMetadata ? {} : await this.store.metadata(bucket, key, signal);
    const item = {
      key,
      lastModified,
      size,
      startTime: readMillis(noted['starttime']),
      endTime: readMillis(noted['endtime']),
    };
    if (choice.list) return item;
    const getUrl = await this.store.link(bucket, key, rootUrl);
    // Identity: else a browser would unpack what it saves under a name that ends in .gz.
    const downloadUrl = await this.store.link(bucket, key, rootUrl, {
      'response-content-disposition': 'attachment',
      'response-content-encoding': 'identity',
    });
    return { ...item, getUrl, downloadUrl };
  }
}

const readMillis = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;

import { HeadObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ObjstoreBucket } from '../../core/model/logs.js';
import { SchedulerError } from '../../platform/errors.js';
import type { ObjstoreSettings } from '../../platform/settings/objstore-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { StoreClient } from './store-clients.js';

export interface StoredObject {
  key: string;
  /** Epoch milliseconds. */
  lastModified: number;
  size: number;
}

export interface Listing {
  objects: StoredObject[];
  /** There is more: what follows this key. */
  after?: string;
}

export interface ListChoice {
  prefix: string;
  /** Go on after this key. */
  after?: string;
  /** At most so many, and no more than 1000. */
  most?: number;
  signal: AbortSignal;
}

/** What stores answer at most in one call. */
const mostPerCall = 1_000;

/** The calls to the object store. Whatever fails there is told without what the store said: that may name credentials. */
@Injectable()
export class ObjectStore implements OnModuleDestroy {
  private readonly clients = new Map<string, StoreClient>();

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** 404 for every operation when there is none. */
  configured(): ObjstoreSettings {
    if (this.settings.objstore) return this.settings.objstore;
    throw new SchedulerError('OBJSTORE_NOT_CONFIGURED', 'No object store is configured: there is no section objstore');
  }

  async list(bucket: ObjstoreBucket, { prefix, after, most = mostPerCall, signal }: ListChoice): Promise<Listing> {
    const { s3 } = this.client(bucket);
    const command = new ListObjectsV2Command({
      Bucket: bucket.objstoreBucket,
      Prefix: prefix,
      StartAfter: after,
      MaxKeys: Math.min(most, mostPerCall),
    });
    const { Contents = [], IsTruncated } = await asked(bucket, () => s3.send(command, { abortSignal: signal }));
    const objects = Contents.map(({ Key, LastModified, Size }) => ({
      key: Key ?? '',
      lastModified: LastModified?.getTime() ?? 0,
      size: Size ?? 0,
    }));
    return { objects, after: IsTruncated ? objects.at(-1)?.key : undefined };
  }

  /** What its writer noted about an object; of one that is gone meanwhile, nothing. */
  async metadata(bucket: ObjstoreBucket, key: string, signal: AbortSignal): Promise<Record<string, string>> {
    const { s3 } = this.client(bucket);
    const command = new HeadObjectCommand({ Bucket: bucket.objstoreBucket, Key: key });
    const found = await asked(bucket, () =>
      s3.send(command, { abortSignal: signal }).catch((cause: unknown) => {
        if (statusOf(cause) === 404) return undefined;
        throw cause;
      }),
    );
    return found?.Metadata ?? {};
  }

  /** Without a call to the store, and valid for as long as the settings say. */
  link(bucket: ObjstoreBucket, key: string, query: Record<string, string> = {}): Promise<string> {
    const seconds = Math.floor(this.configured().expireObjstoreLinksAfterMillis / 1_000);
    return asked(bucket, () => this.client(bucket).sign(bucket.objstoreBucket, key, seconds, query));
  }

  onModuleDestroy(): void {
    for (const { s3 } of this.clients.values()) s3.destroy();
  }

  /** One per caller to the store. */
  private client(bucket: ObjstoreBucket): StoreClient {
    const name = JSON.stringify([bucket.objstoreAccessKey, bucket.objstoreSecretKey]);
    const client = this.clients.get(name) ?? new StoreClient(this.configured(), bucket);
    this.clients.set(name, client);
    return client;
  }
}

const statusOf = (cause: unknown): number | undefined =>
  (cause as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;

async function asked<T>({ objstoreBucket }: ObjstoreBucket, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    const { name, code } = cause as { name?: string; code?: string };
    // Names such as AccessDenied, NoSuchBucket, ECONNREFUSED say enough.
    throw new SchedulerError(
      'OBJSTORE_UNAVAILABLE',
      `The object store does not give access to bucket '${objstoreBucket}': ${code ?? name ?? 'it failed'}`,
    );
  }
}

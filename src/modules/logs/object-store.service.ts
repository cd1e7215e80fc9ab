import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { ObjstoreBucket } from '../../core/model/logs.js';
import { SchedulerError } from '../../platform/errors.js';
import { join } from 'node:path';
import { type LogStore, logStoreOf } from '../../platform/settings/log-store-settings.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';
import { FolderClient } from './folder-client.js';
import { ObjectLinks } from './object-links.service.js';
import type { Listing, ListObjectsInput, LogStoreClient } from './log-store-client.js';

/** The calls to the object store. Whatever fails there is told without what the store said: that may name credentials. */
@Injectable()
export class ObjectStore implements OnModuleDestroy {
  private readonly clients = new Map<string, Promise<LogStoreClient>>();
  private readonly store: LogStore | undefined;
  /** Logs that are kept in a directory of this machine; undefined: they are kept elsewhere. */
  readonly folder: FolderClient | undefined;

  constructor(@Inject(SETTINGS) settings: Settings, links: ObjectLinks) {
    this.store = logStoreOf(settings);
    if (this.store?.kind !== 'FOLDER') return;
    // Where the agent of the data directory has them, or agents elsewhere, too.
    const directory = settings.logFolder.directory ?? join(settings.dataDir, 'agent', 'archive');
    this.folder = new FolderClient(directory, (bucket, key, seconds, attachment) =>
      links.make({ bucket, key, attachment }, seconds),
    );
  }

  /** 404 for every operation when there is none. */
  configured(): LogStore {
    if (this.store) return this.store;
    throw new SchedulerError('OBJSTORE_NOT_CONFIGURED', 'No object store is configured: there is no section objstore');
  }

  list(bucket: ObjstoreBucket, choice: ListObjectsInput): Promise<Listing> {
    return this.ask(bucket, (client) => client.list(bucket.objstoreBucket, choice));
  }

  /** Metadata that the writer of an object attached to it; none of one that is gone meanwhile. */
  metadata(bucket: ObjstoreBucket, key: string, signal: AbortSignal): Promise<Record<string, string>> {
    return this.ask(bucket, (client) => client.metadata(bucket.objstoreBucket, key, signal));
  }

  /** Without a call to the store, and valid for as long as the settings say. The service itself serves its folder, below `rootUrl`. */
  async link(
    bucket: ObjstoreBucket,
    key: string,
    rootUrl: string,
    query: Record<string, string> = {},
  ): Promise<string> {
    const seconds = Math.floor(this.configured().expireObjstoreLinksAfterMillis / 1_000);
    if (this.folder) return `${rootUrl}${await this.folder.sign(bucket.objstoreBucket, key, seconds, query)}`;
    return this.ask(bucket, (client) => client.sign(bucket.objstoreBucket, key, seconds, query));
  }

  async onModuleDestroy(): Promise<void> {
    for (const client of this.clients.values()) (await client).destroy();
  }

  private async ask<T>(bucket: ObjstoreBucket, call: (client: LogStoreClient) => Promise<T>): Promise<T> {
    try {
      return await call(await this.client(bucket));
    } catch (cause) {
      const { name, code } = cause as { name?: string; code?: string };
      // Names such as AccessDenied, NoSuchBucket, ECONNREFUSED say enough.
      throw new SchedulerError(
        'OBJSTORE_UNAVAILABLE',
        `The object store does not give access to bucket '${bucket.objstoreBucket}': ${code ?? name ?? 'it failed'}`,
      );
    }
  }

  /** One per caller to the store. Loaded with the first call: the library is large, and most have no store. */
  private client(bucket: ObjstoreBucket): Promise<LogStoreClient> {
    if (this.folder) return Promise.resolve(this.folder);
    const name = JSON.stringify([bucket.objstoreAccessKey, bucket.objstoreSecretKey]);
    const settings = this.configured();
    const client =
      this.clients.get(name) ??
      import('./store-client.js').then(({ StoreClient }) => new StoreClient(settings, bucket));
    this.clients.set(name, client);
    return client;
  }
}

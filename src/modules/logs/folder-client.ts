import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  keyOfOrder,
  namesOfBucket,
  namesOfKey,
  orderOfFile,
  orderOfDirectory,
  orderOfKey,
} from '../../core/logs/index.js';
import type { ListObjectsInput, Listing, LogStoreClient, StoredObject } from './log-store-client.js';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const mostPerCall = 1_000;

interface Entry {
  order: string;
  path: string;
  isFolder: boolean;
}

/** Reads the folder in which the agent keeps logs. Nothing but the agent writes there. */
export class FolderClient implements LogStoreClient {
  constructor(
    private readonly root: string,
    private readonly signLink: (
      bucket: string,
      key: string,
      expiresInSeconds: number,
      asAttachment: boolean,
    ) => Promise<string>,
  ) {}

  async list(bucket: string, { prefix, after, most = mostPerCall, signal }: ListObjectsInput): Promise<Listing> {
    const wanted = Math.min(most, mostPerCall);
    const choice = { prefix: orderOfKey(prefix, false), after: after === undefined ? '' : orderOfKey(after), signal };
    const objects: StoredObject[] = [];
    for await (const { order, path } of walk(this.folderOf(bucket), '', choice)) {
      const stats = await lstat(path).catch(unlessMissing);
      if (!stats?.isFile()) continue;
      if (objects.length === wanted) return { objects, after: objects.at(-1)?.key };
      objects.push({ key: keyOfOrder(order), lastModified: Math.floor(stats.mtimeMs), size: stats.size });
    }
    return { objects };
  }

  /** Nothing is noted here. */
  metadata(): Promise<Record<string, string>> {
    return Promise.resolve({});
  }

  sign(bucket: string, key: string, expiresInSeconds: number, query: Record<string, string>): Promise<string> {
    const asAttachment = query['response-content-disposition'] === 'attachment';
    return this.signLink(bucket, key, expiresInSeconds, asAttachment);
  }

  /** Opens an object; the caller closes it. undefined: there is none. */
  async open(bucket: string, key: string): Promise<FileHandle | undefined> {
    return open(join(this.folderOf(bucket), ...namesOfKey(key)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(
      unlessMissing,
    );
  }

  destroy(): void {}

  private folderOf(bucket: string): string {
    return join(this.root, ...namesOfBucket(bucket));
  }
}

/** Files in the order of their keys, those whose key begins so and comes after. */
async function* walk(
  folder: string,
  above: string,
  choice: { prefix: string; after: string; signal: AbortSignal },
): AsyncGenerator<Entry> {
  for (let last: string | undefined; ;) {
    const entries = await nextEntries(folder, above, choice, last);
    for (const entry of entries) {
      if (entry.isFolder) yield* walk(entry.path, entry.order, choice);
      else yield entry;
    }
    if (entries.length < mostPerCall) return;
    last = entries.at(-1)!.order;
  }
}

/** So many at a time, whatever is in the folder. */
async function nextEntries(
  folder: string,
  above: string,
  { prefix, after, signal }: { prefix: string; after: string; signal: AbortSignal },
  last: string | undefined,
): Promise<Entry[]> {
  let found: Entry[] = [];
  const listing = await opendir(folder, { bufferSize: 512 }).catch(unlessMissing);
  if (!listing) return found;
  for await (const entry of listing) {
    signal.throwIfAborted();
    const isFolder = entry.isDirectory();
    const order = isFolder ? orderOfDirectory(above, entry.name) : orderOfFile(above, entry.name);
    const isLike = order.startsWith(prefix) || (isFolder && prefix.startsWith(order));
    const isToCome = order > after || (isFolder && after.startsWith(order));
    if (!isLike || !isToCome || (last !== undefined && order <= last)) continue;
    found.push({ order, path: join(folder, entry.name), isFolder });
    if (found.length >= 2 * mostPerCall) found = first(found);
  }
  return first(found);
}

const first = (entries: readonly Entry[]): Entry[] =>
  entries.toSorted((a, b) => (a.order < b.order ? -1 : 1)).slice(0, mostPerCall);

function unlessMissing(cause: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause;
}

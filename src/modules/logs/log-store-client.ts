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

export interface ListObjectsInput {
  prefix: string;
  /** Go on after this key. */
  after?: string;
  /** At most so many, and no more than 1000. */
  most?: number;
  signal: AbortSignal;
}

/** The operations of a store, whatever its kind. */
export interface LogStoreClient {
  list(bucket: string, choice: ListObjectsInput): Promise<Listing>;
  /** Metadata that the writer of an object attached to it; none of one that is gone meanwhile. */
  metadata(bucket: string, key: string, signal: AbortSignal): Promise<Record<string, string>>;
  /** A link to an object, which works for all who have it until it expires. `query`: what else the link asks for. */
  sign(bucket: string, key: string, expiresInSeconds: number, query: Record<string, string>): Promise<string>;
  destroy(): void;
}

import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import type { ObjstoreBucket } from '../../core/model/logs.js';
import { credentialsOf, objectStoreClient, statusOf } from '../../platform/object-store.js';
import type { ObjstoreSettings } from '../../platform/settings/objstore-settings.js';
import type { ListObjectsInput, Listing, LogStoreClient } from './log-store-client.js';

/** Address of the objects of a bucket. */
interface BucketAddress {
  protocol: string;
  hostname: string;
  port: number | undefined;
  path: string;
}

/** Connections to the store of one caller to it, all searches together. */
const mostConnections = 64;
const probe = 'x';

/** Number of objects that stores answer at most in one call. */
const mostPerCall = 1_000;

/** One caller to the store: a client and what signs links in its name. */
export class StoreClient implements LogStoreClient {
  private readonly s3: S3Client;
  private readonly signer: S3RequestPresigner;
  private readonly addresses = new Map<string, Promise<BucketAddress>>();

  constructor(settings: ObjstoreSettings, bucket: ObjstoreBucket) {
    this.s3 = objectStoreClient(settings, {
      credentials: credentialsOf(bucket),
      maxAttempts: 2,
      requestHandler: { httpAgent: { maxSockets: mostConnections }, httpsAgent: { maxSockets: mostConnections } },
    });
    this.signer = new S3RequestPresigner({ ...this.s3.config });
  }

  async list(bucket: string, { prefix, after, most = mostPerCall, signal }: ListObjectsInput): Promise<Listing> {
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix,
      StartAfter: after,
      MaxKeys: Math.min(most, mostPerCall),
    });
    const { Contents = [], IsTruncated } = await this.s3.send(command, { abortSignal: signal });
    const objects = Contents.map(({ Key, LastModified, Size }) => ({
      key: Key ?? '',
      lastModified: LastModified?.getTime() ?? 0,
      size: Size ?? 0,
    }));
    return { objects, after: IsTruncated ? objects.at(-1)?.key : undefined };
  }

  /** Metadata that the writer of an object attached to it; none of one that is gone meanwhile. */
  async metadata(bucket: string, key: string, signal: AbortSignal): Promise<Record<string, string>> {
    try {
      const command = new HeadObjectCommand({ Bucket: bucket, Key: key });
      return (await this.s3.send(command, { abortSignal: signal })).Metadata ?? {};
    } catch (cause) {
      if (statusOf(cause) === 404) return {};
      throw cause;
    }
  }

  /** A link to an object, which works for all who have it until it expires. `query`: what else the link asks for. */
  async sign(bucket: string, key: string, expiresInSeconds: number, query: Record<string, string>): Promise<string> {
    const { path, ...address } = await this.address(bucket);
    const signed = await this.signer.presign(
      { method: 'GET', ...address, path: `${path}/${key.split('/').map(escape).join('/')}`, query, headers: {} },
      { expiresIn: expiresInSeconds },
    );
    const parameters = Object.entries(signed.query ?? {}).map(([name, value]) => `${name}=${escape(String(value))}`);
    const port = signed.port === undefined ? '' : `:${signed.port}`;
    return `${signed.protocol}//${signed.hostname}${port}${signed.path}?${parameters.join('&')}`;
  }

  destroy(): void {
    this.s3.destroy();
  }

  /** The client is asked once and not per link, which would take a hundred times as long. */
  private address(bucket: string): Promise<BucketAddress> {
    const known = this.addresses.get(bucket);
    if (known) return known;
    const asked = this.ask(bucket);
    this.addresses.set(bucket, asked);
    asked.catch(() => this.addresses.delete(bucket));
    return asked;
  }

  private async ask(bucket: string): Promise<BucketAddress> {
    const { protocol, hostname, port, pathname } = new URL(
      await getSignedUrl(this.s3, new GetObjectCommand({ Bucket: bucket, Key: probe })),
    );
    return {
      protocol,
      hostname,
      port: port === '' ? undefined : Number(port),
      path: pathname.slice(0, -probe.length - 1),
    };
  }
}

/** As signatures want it: everything but letters, digits and -_.~ */
const escape = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

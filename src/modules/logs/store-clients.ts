import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl, S3RequestPresigner } from '@aws-sdk/s3-request-presigner';
import type { ObjstoreBucket } from '../../core/model/logs.js';
import type { ObjstoreSettings } from '../../platform/settings/objstore-settings.js';

/** Where the objects of a bucket are. */
interface BucketAddress {
  protocol: string;
  hostname: string;
  port: number | undefined;
  path: string;
}

/** Connections to the store of one caller to it, all searches together. */
const mostConnections = 64;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const probe = 'x';

/** One caller to the store: a client and what signs links in its name. */
export class StoreClient {
  readonly s3: S3Client;
  private readonly signer: S3RequestPresigner;
  private readonly addresses = new Map<string, Promise<BucketAddress>>();

  constructor(settings: ObjstoreSettings, { objstoreAccessKey, objstoreSecretKey }: ObjstoreBucket) {
    const { endpoint, region, usePathStyle = endpoint !== undefined } = settings;
    this.s3 = new S3Client({
      region,
      endpoint,
      forcePathStyle: usePathStyle,
      credentials:
        objstoreAccessKey !== undefined && objstoreSecretKey !== undefined
          ? { accessKeyId: objstoreAccessKey, secretAccessKey: objstoreSecretKey }
          : undefined,
      maxAttempts: 2,
      // Stores other than AWS do not know the newer checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { httpAgent: { maxSockets: mostConnections }, httpsAgent: { maxSockets: mostConnections } },
      // It would write requests to the console, signatures included.
      logger: silent,
    });
    this.signer = new S3RequestPresigner({ ...this.s3.config });
  }

  /** A link to an object that whoever has it can follow until it expires. `query`: what else the link asks for. */
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

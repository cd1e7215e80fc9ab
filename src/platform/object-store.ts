import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** A store is AWS without an endpoint; buckets are named in the path unless it is, or as `usePathStyle` says. */
interface ObjectStoreAddress {
  endpoint?: string;
  region: string;
  usePathStyle?: boolean;
}

/** Keys as the settings have them: both or neither. */
interface ObjectStoreKeys {
  objstoreAccessKey?: string;
  objstoreSecretKey?: string;
}

type ClientOptions = Pick<S3ClientConfig, 'credentials' | 'maxAttempts' | 'requestHandler' | 'signer'>;

/** The one place that makes clients of object stores. Without credentials, the environment or the machine says who calls. */
export function objectStoreClient(
  { endpoint, region, usePathStyle = endpoint !== undefined }: ObjectStoreAddress,
  options: ClientOptions,
): S3Client {
  return new S3Client({
    ...options,
    region,
    endpoint,
    forcePathStyle: usePathStyle,
    // Stores other than AWS do not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // The client would write calls to the console, signatures included.
    logger: silent,
  });
}

export const credentialsOf = ({ objstoreAccessKey, objstoreSecretKey }: ObjectStoreKeys) =>
  objstoreAccessKey !== undefined && objstoreSecretKey !== undefined
    ? { accessKeyId: objstoreAccessKey, secretAccessKey: objstoreSecretKey }
    : undefined;

/** The HTTP status of a call that failed; undefined: the store has not answered. */
export const statusOf = (cause: unknown): number | undefined =>
  (cause as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;

/** A refusal is final; a call that broke off may work when it is made again. */
export function isRefusal(cause: unknown): boolean {
  const status = statusOf(cause) ?? 500;
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

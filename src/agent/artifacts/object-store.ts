import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { GetObjectCommand, HeadObjectCommand, type S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { backOffMillis } from '../../core/back-off.js';
import { inParallel, withSignal } from '../../platform/async.js';
import { messageOf } from '../../platform/files.js';
import { credentialsOf, isRefusal, objectStoreClient, statusOf } from '../../platform/object-store.js';
import { type DownloadLimits, isTrouble } from './download.js';
import { DeployFault, type BucketObject } from './order.js';

const partsAtOnce = 4;
const mostAttemptsForFacts = 3;
const firstPauseMillis = 200;
const longestPauseMillis = 5_000;
/** Without keys calls are not signed, whatever the environment of the agent says. */
const unsigned: Pick<S3ClientConfig, 'credentials' | 'signer'> = {
  credentials: { accessKeyId: '', secretAccessKey: '' },
  signer: { sign: (call) => Promise.resolve(call) },
};

interface Part {
  start: number;
  /** The one after its last byte. */
  end: number;
}

/** Fetches an object in parts, several at a time, all of them of the version that was there at the beginning. */
export async function downloadObject(
  { bucket, key, store }: BucketObject,
  target: FileHandle,
  { name, limits, meter }: DownloadLimits & { name: string },
): Promise<void> {
  const overall = AbortSignal.timeout(store.objstoreDownloadTimeoutMillis);
  const s3 = clientOf(store, limits.verifyTls);
  const object = { Bucket: bucket, Key: key };
  try {
    const { ContentLength: size = 0, ETag } = await s3.send(new HeadObjectCommand(object), { abortSignal: overall });
    if (size > limits.artifactBytes) meter.refuse(`${name}: is larger than ${limits.artifactBytes / (1024 * 1024)} MB`);
    await meter.checkDisk(size);
    const fetchPart = async ({ start, end }: Part) => {
      const idle = new IdleTimer(store.objstoreChunkDownloadTimeoutMillis);
      const fetch = async (signal: AbortSignal) => {
        const command = new GetObjectCommand({ ...object, Range: `bytes=${start}-${end - 1}`, IfMatch: ETag });
        const { Body } = await s3.send(command, { abortSignal: signal });
        let position = start;
        for await (const chunk of Body as Readable as AsyncIterable<Buffer>) {
          idle.touch();
          if (position + chunk.length > end) throw new Error('the store sends more than it was asked for');
          await target.write(chunk, 0, chunk.length, position);
          position += chunk.length;
        }
        if (position < end) throw new Error('the store ended too early');
      };
      try {
        await withSignal([overall, idle.signal], fetch);
      } catch (cause) {
        throw idle.cause ?? cause;
      } finally {
        idle.stop();
      }
    };
    const tries = store.objstoreChunkRetries;
    await inParallel(
      partsOf(size, store.objstoreChunkSize),
      partsAtOnce,
      (part) => again(tries, overall, () => fetchPart(part)),
      {
        stopAtFailure: true,
      },
    );
  } catch (cause) {
    if (meter.fault) throw meter.fault;
    if (cause instanceof DeployFault || isTrouble(cause)) throw cause;
    const why = overall.aborted
      ? `took longer than ${store.objstoreDownloadTimeoutMillis} ms`
      : `${reasonOf(cause)} (object ${key} of bucket ${bucket})`;
    throw new DeployFault(`${name}: ${why}`, { cause });
  } finally {
    s3.destroy();
  }
}

function clientOf(store: BucketObject['store'], verifyTls: boolean): S3Client {
  const credentials = credentialsOf(store);
  return objectStoreClient(store, {
    ...(credentials ? { credentials } : unsigned),
    maxAttempts: mostAttemptsForFacts,
    requestHandler: { httpsAgent: { rejectUnauthorized: verifyTls, maxSockets: partsAtOnce } },
  });
}

function partsOf(size: number, partSize: number): Part[] {
  const parts: Part[] = [];
  for (let start = 0; start < size; start += partSize) parts.push({ start, end: Math.min(size, start + partSize) });
  return parts;
}

/** Repeats work whose connection broke off; a refusal of the store would come again. */
async function again(tries: number, overall: AbortSignal, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (cause) {
      if (isRefusal(cause) || cause instanceof DeployFault || isTrouble(cause) || attempt >= tries || overall.aborted)
        throw cause;
      await delay(backOffMillis(attempt, firstPauseMillis, longestPauseMillis));
    }
  }
}

/** A HEAD that is refused has no words, only a status. */
function reasonOf(cause: unknown): string {
  const status = statusOf(cause);
  if (status === 404) return 'there is no such object';
  if (status === 403) return 'the store lets the agent not read it';
  if (status === 412) return 'the object has changed while it was fetched';
  if (cause instanceof SilentStore) return messageOf(cause);
  return `${messageOf(cause)}${status === undefined ? '' : `, HTTP ${status}`}`;
}

class SilentStore extends Error {}

/** Aborts when nothing has come for so long. */
class IdleTimer {
  private readonly silence = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(millis: number) {
    const cause = new SilentStore(`the store has sent nothing for ${millis} ms`);
    this.timer = setTimeout(() => this.silence.abort(cause), millis);
  }

  get signal(): AbortSignal {
    return this.silence.signal;
  }

  /** Cause of its abort, which the client for the store does not report. */
  get cause(): unknown {
    return this.silence.signal.reason as unknown;
  }

  touch(): void {
    this.timer.refresh();
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}

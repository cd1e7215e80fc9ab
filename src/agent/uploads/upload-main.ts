import { createReadStream } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type StorageClass,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { inParallel } from '../../platform/async.js';
import { messageOf } from '../../platform/files.js';
import { become, endWith, takeOrder } from '../processes/order-program.js';
import type { FileToUpload, UploadAnswer, UploadOrder, UploadOutcome } from './order.js';
import { Throttle } from './throttle.js';

/**
 * Uploads files that the agent has opened, as a user without rights, and gives way to everything else on the machine. A file is
 * read as it is sent: of none is more in memory than what is on its way. Killed, it leaves no object that is not whole.
 */
class Uploads {
  private readonly throttle: Throttle;
  private readonly clients = new Map<string, S3Client>();
  /** Buckets that take nothing now, and why. */
  private readonly failing = new Map<string, string>();

  constructor(private readonly order: UploadOrder) {
    this.throttle = new Throttle(order.bytesPerSecond);
  }

  all(): Promise<UploadOutcome[]> {
    return inParallel(this.order.files, this.order.atOnce, (file) => this.outcomeOf(file));
  }

  private async outcomeOf(file: FileToUpload): Promise<UploadOutcome> {
    const failing = this.failing.get(file.bucket);
    if (failing !== undefined) return { kind: 'FAILED', reason: failing, ofStore: true };
    let refusal: unknown;
    try {
      const found = await this.again(() => this.objectAt(file, (cause) => (refusal = cause)));
      if (found && found.id !== file.id) return { kind: 'TAKEN' };
      // Not every store keeps to it that an object is whole.
      if (found?.size === file.size) return { kind: 'DONE' };
      await (file.size > this.order.singleBytes ? this.sendParts(file) : this.again(() => this.sendWhole(file)));
      return { kind: 'DONE' };
    } catch (failure) {
      // A store that refuses may close the connection before it has said so once more.
      const cause = statusOf(failure) === undefined ? (refusal ?? failure) : failure;
      const [reason, ofStore] = [reasonOf(cause), isOfStore(cause)];
      if (ofStore) this.failing.set(file.bucket, reason);
      return { kind: 'FAILED', reason, ofStore };
    }
  }

  /** undefined: there is no such object, or it is not for us to see. */
  private async objectAt(
    file: FileToUpload,
    isRefused: (cause: unknown) => void,
  ): Promise<{ id?: string; size?: number } | undefined> {
    try {
      const head = new HeadObjectCommand(placeOf(file));
      const { Metadata, ContentLength } = await this.guarded((signal) =>
        this.client(file).send(head, { abortSignal: signal }),
      );
      return { id: Metadata?.[idName], size: ContentLength };
    } catch (cause) {
      if (statusOf(cause) === 403) isRefused(cause);
      else if (statusOf(cause) !== 404) throw cause;
      return undefined;
    }
  }

  private async sendWhole(file: FileToUpload): Promise<void> {
    await this.guarded((signal, guard) => {
      const Body = this.read(file, 0, file.size, guard);
      const put = new PutObjectCommand({ ...placeOf(file), ...factsOf(file), Body, ContentLength: file.size });
      return this.client(file).send(put, { abortSignal: signal });
    });
  }

  private async sendParts(file: FileToUpload): Promise<void> {
    const client = this.client(file);
    const { UploadId } = await this.again(() =>
      this.guarded((signal) =>
        client.send(new CreateMultipartUploadCommand({ ...placeOf(file), ...factsOf(file) }), { abortSignal: signal }),
      ),
    );
    const upload = { ...placeOf(file), UploadId };
    try {
      const Parts: { PartNumber: number; ETag?: string }[] = [];
      // Stores take no more than 10000 of them.
      const partBytes = Math.max(this.order.partBytes, Math.ceil(file.size / mostParts));
      for (let start = 0; start < file.size; start += partBytes) {
        const length = Math.min(partBytes, file.size - start);
        const PartNumber = Parts.length + 1;
        const { ETag } = await this.again(() =>
          this.guarded((signal, guard) => {
            const Body = this.read(file, start, length, guard);
            const part = new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength: length });
            return client.send(part, { abortSignal: signal });
          }),
        );
        Parts.push({ PartNumber, ETag });
      }
      const complete = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
      await this.again(() => this.guarded((signal) => client.send(complete, { abortSignal: signal })));
    } catch (cause) {
      const abort = new AbortMultipartUploadCommand(upload);
      await this.guarded((signal) => client.send(abort, { abortSignal: signal })).catch(() => undefined);
      throw cause;
    }
  }

  private read({ file }: FileToUpload, start: number, length: number, guard: Guard): Readable {
    const { throttle } = this;
    const source = createReadStream('', {
      fd: file,
      autoClose: false,
      start,
      end: start + length - 1,
      highWaterMark: chunkBytes,
    });
    return Readable.from(
      (async function* () {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          guard.isHeld = true;
          await throttle.take(chunk.length);
          guard.isHeld = false;
          guard.moved();
          yield chunk;
        }
      })(),
      { objectMode: false, highWaterMark: chunkBytes },
    );
  }

  /** Ends a call in which nothing has moved for too long, unless it is we who hold it. */
  private async guarded<T>(call: (signal: AbortSignal, guard: Guard) => Promise<T>): Promise<T> {
    const silent = new AbortController();
    const guard: Guard = { isHeld: false, moved: () => timer.refresh() };
    const timer = setTimeout(() => void (guard.isHeld ? timer.refresh() : silent.abort()), this.order.idleMillis);
    try {
      return await call(silent.signal, guard);
    } catch (cause) {
      if (silent.signal.aborted) throw new Error(`the store did nothing for ${this.order.idleMillis} ms`, { cause });
      throw cause;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Repeats work whose connection broke off; a refusal of the store would come again. */
  private async again<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (cause) {
        if (isRefusal(cause) || attempt >= this.order.tries) throw cause;
        await delay(this.order.waitMillis);
      }
    }
  }

  private client({ keys }: FileToUpload): S3Client {
    const name = JSON.stringify(keys ?? null);
    const { endpoint, region, usePathStyle = endpoint !== undefined } = this.order.store;
    const client =
      this.clients.get(name) ??
      new S3Client({
        region,
        endpoint,
        forcePathStyle: usePathStyle,
        credentials: keys,
        // Bodies are read once: what is tried again is begun anew here.
        maxAttempts: 1,
        // Stores other than AWS do not know the newer checksums.
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
        logger: silentLog,
      });
    this.clients.set(name, client);
    return client;
  }
}

/** Watch over a call. */
interface Guard {
  /** It waits for its share of the bandwidth. */
  isHeld: boolean;
  moved: () => void;
}

const chunkBytes = 256 * 1024;
const mostParts = 10_000;

/** Under which the id of a file is noted with its object. */
const idName = 'muster-file';

/** The client would write calls to the console, signatures included. */
const silentLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const placeOf = ({ bucket, key }: FileToUpload) => ({ Bucket: bucket, Key: key });

const factsOf = ({ id, storageClass, contentType, contentEncoding }: FileToUpload) => ({
  Metadata: { [idName]: id },
  StorageClass: storageClass as StorageClass | undefined,
  ContentType: contentType,
  ContentEncoding: contentEncoding,
});

const statusOf = (cause: unknown): number | undefined =>
  (cause as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;

function isRefusal(cause: unknown): boolean {
  const status = statusOf(cause) ?? 500;
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/**
 * True for an error of the store itself. A problem of one file (its storage class, its size) is a 400 or the like, and
 * does not concern the others.
 */
const isOfStore = (cause: unknown): boolean => !isRefusal(cause) || [401, 403, 404].includes(statusOf(cause) ?? 0);

/** Names such as NoSuchBucket and ECONNREFUSED say enough; what the store says besides may name credentials. */
function reasonOf(cause: unknown): string {
  const { name, code } = cause as { name?: string; code?: string };
  const status = statusOf(cause);
  const said = code ?? (name === undefined || name === 'Error' ? messageOf(cause) : name);
  return `the store does not take it: ${said}${status === undefined ? '' : `, HTTP ${status}`}`;
}

setPriority(constants.priority.PRIORITY_LOW);
const order = await takeOrder<UploadOrder>();
try {
  if (order.user) become(order.user);
  endWith({ outcomes: await new Uploads(order).all() } satisfies UploadAnswer);
} catch (cause) {
  endWith({ trouble: messageOf(cause) } satisfies UploadAnswer);
}

import { createReadStream } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  type StorageClass,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { inParallel } from '../../platform/async.js';
import { messageOf } from '../../platform/files.js';
import { isRefusal, objectStoreClient, statusOf } from '../../platform/object-store.js';
import { become, endWith, takeOrder } from '../processes/order-program.js';
import type { FailureReach, FileToUpload, UploadAnswer, UploadOrder, UploadOutcome } from './order.js';
import { Throttle } from './throttle.js';

/**
 * Uploads files that the agent has opened, as a user without rights, and gives way to everything else on the machine. A file is
 * read as it is sent, and one that goes in parts is in memory with two of them at most. Killed, it leaves no object that is not whole.
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
    if (failing !== undefined) return { kind: 'FAILED', reason: failing, reach: 'STORE' };
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
      const [reason, reach] = [reasonOf(cause), reachOf(cause)];
      if (reach === 'STORE') this.failing.set(file.bucket, reason);
      return { kind: 'FAILED', reason, reach };
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
      else if (statusOf(cause) !== 404) throw isRefusal(cause) ? await this.explained(file, cause) : cause;
      return undefined;
    }
  }

  /** The answer to a HEAD has no body, which would say why it is refused. That to a GET has. */
  private async explained(file: FileToUpload, refusal: unknown): Promise<unknown> {
    try {
      const get = new GetObjectCommand({ ...placeOf(file), Range: 'bytes=0-0' });
      await this.guarded((signal) => this.client(file).send(get, { abortSignal: signal }));
      return refusal;
    } catch (cause) {
      return statusOf(cause) === statusOf(refusal) ? cause : refusal;
    }
  }

  private async sendWhole(file: FileToUpload): Promise<void> {
    await this.guarded((signal, guard) => {
      const Body = this.read(file, guard);
      const put = new PutObjectCommand({ ...placeOf(file), ...factsOf(file), Body, ContentLength: file.size });
      return this.client(file).send(put, { abortSignal: signal });
    });
  }

  /** The client sends a part again by itself, because it has the part in memory. */
  private async sendParts(file: FileToUpload): Promise<void> {
    const { tries, partBytes, idleMillis } = this.order;
    const requestHandler = { connectionTimeout: idleMillis, socketTimeout: idleMillis };
    const client = this.open(file, { maxAttempts: tries, requestHandler });
    try {
      await new Upload({
        client,
        params: { ...placeOf(file), ...factsOf(file), Body: this.read(file), ContentLength: file.size },
        partSize: Math.max(partBytes, Math.ceil(file.size / mostParts)),
        queueSize: 1,
      }).done();
    } catch (cause) {
      throw (cause as Error).name === 'TimeoutError' ? this.silence(cause) : cause;
    } finally {
      client.destroy();
    }
  }

  private read({ file, size }: FileToUpload, guard?: Guard): Readable {
    const { throttle } = this;
    const source = createReadStream('', {
      fd: file,
      autoClose: false,
      start: 0,
      end: size - 1,
      highWaterMark: chunkBytes,
    });
    return Readable.from(
      (async function* () {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          if (guard) guard.isHeld = true;
          await throttle.take(chunk.length);
          if (guard) guard.isHeld = false;
          guard?.moved();
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
      throw silent.signal.aborted ? this.silence(cause) : cause;
    } finally {
      clearTimeout(timer);
    }
  }

  private silence(cause: unknown): Error {
    return new Error(`the store did nothing for ${this.order.idleMillis} ms`, { cause });
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

  /** The client tries nothing again, because it reads a body once; `again` begins anew. */
  private client(file: FileToUpload): S3Client {
    const name = JSON.stringify(file.keys ?? null);
    const client = this.clients.get(name) ?? this.open(file, { maxAttempts: 1 });
    this.clients.set(name, client);
    return client;
  }

  private open({ keys }: FileToUpload, options: Parameters<typeof objectStoreClient>[1]): S3Client {
    return objectStoreClient(this.order.store, { credentials: keys, ...options });
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

const placeOf = ({ bucket, key }: FileToUpload) => ({ Bucket: bucket, Key: key });

const factsOf = ({ id, storageClass, contentType, contentEncoding }: FileToUpload) => ({
  Metadata: { [idName]: id },
  StorageClass: storageClass as StorageClass | undefined,
  ContentType: contentType,
  ContentEncoding: contentEncoding,
});

/** Refusals of whatever is sent, or to this caller. */
const statusesOfStore: readonly (number | undefined)[] = [401, 403, 404, 405];

/** Names of refusals with a status of the others that concern credentials, address, bucket or connection. */
const namesOfStore =
  /^(ExpiredToken|InvalidToken|TokenRefreshRequired|RequestExpired|RequestTimeout|AuthorizationHeaderMalformed|IncorrectEndpoint|IllegalLocationConstraint|InvalidBucket)|^KMS\.|Quota/;

/** A problem of one file (its storage class, its size, its key) is a 400 or the like, and does not concern the others. */
function reachOf(cause: unknown): FailureReach {
  if (!isRefusal(cause) || statusesOfStore.includes(statusOf(cause))) return 'STORE';
  return namesOfStore.test((cause as Error).name) ? 'STORE' : 'FILE';
}

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

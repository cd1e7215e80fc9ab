import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { numberedKey } from '../../core/logs/index.js';
import { taskOf } from '../logs/upload-record.js';
import { nobody, cleanEnvironment } from '../processes/run-as.js';
import { killGroup, startProgram } from '../processes/order-program.js';
import type { LogSettings, UploadTarget } from '../settings.js';
import type { FileToUpload, UploadAnswer, UploadOrder, UploadOutcome } from './order.js';
import type { Upload, UploadStore } from './upload-store.js';

/** Words after `node` that start the program. */
export const uploadProgram: readonly string[] = [fileURLToPath(new URL('./upload-main.js', import.meta.url))];

const firstFile = 3;
const mostNumbers = 1_000;
const megabyte = 1024 * 1024;

/** Variables that identify the agent to the store if no keys are set, and the authorities that it trusts. */
const passedOn = /^(AWS_\w+|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/;

type Target = Extract<UploadTarget, { kind: 'BUCKET' }>;

/** Puts logs into buckets, by a program that can do nothing but read the files that it is given. */
export class BucketStore implements UploadStore {
  constructor(
    private readonly target: Target,
    private readonly settings: LogSettings,
    private readonly program: readonly string[],
  ) {}

  async uploadAll(uploads: readonly Upload[], signal: AbortSignal): Promise<void> {
    let left = uploads.map((upload) => ({ upload, count: 0, key: upload.key }));
    while (left.length > 0 && !signal.aborted) {
      for (const each of left) {
        while (each.upload.isTaken(each.key)) each.key = numberedKey(each.upload.key, ++each.count);
        if (each.key !== each.upload.key || !each.upload.again) await each.upload.begin(each.key);
      }
      const outcomes = await this.ask(left, signal);
      if (signal.aborted) return;
      const taken: typeof left = [];
      for (const [index, each] of left.entries()) {
        const outcome = outcomes[index]!;
        if (outcome.kind === 'DONE') await each.upload.end();
        if (outcome.kind === 'FAILED') each.upload.fail(outcome.reason, outcome.reach);
        if (outcome.kind !== 'TAKEN') continue;
        if (each.count >= mostNumbers) each.upload.fail('its key, and each with a number at its end, is taken', 'FILE');
        else taken.push({ ...each, count: each.count + 1, key: numberedKey(each.upload.key, each.count + 1) });
      }
      left = taken;
    }
  }

  private async ask(files: readonly { upload: Upload; key: string }[], signal: AbortSignal): Promise<UploadOutcome[]> {
    const { settings, target } = this;
    const order: UploadOrder = {
      user: process.getuid?.() === 0 ? nobody : undefined,
      store: { endpoint: target.endpoint, region: target.region, usePathStyle: target.usePathStyle },
      files: files.map(({ upload, key }, index) => this.fileOf(upload, key, index)),
      atOnce: settings.executorMaxUploadThreads,
      bytesPerSecond: settings.maxUploadMegabytesPerSecond * megabyte,
      singleBytes: settings.maxSingleUploadSizeBytes,
      partBytes: settings.uploadPartSize,
      tries: settings.retryCount,
      waitMillis: settings.retryWaitMs,
      idleMillis: settings.uploadIdleSeconds * 1_000,
    };
    const answer = await this.carryOut(
      order,
      files.map(({ upload }) => upload.handle.fd),
      signal,
    );
    if (answer?.outcomes) return answer.outcomes;
    const reason = answer?.trouble ?? 'the program that uploads ended early';
    return files.map(() => ({ kind: 'FAILED', reason, reach: 'STORE' }));
  }

  private async carryOut(order: UploadOrder, files: number[], signal: AbortSignal): Promise<UploadAnswer | undefined> {
    const given = Object.entries(process.env).filter(([name, value]) => passedOn.test(name) && value !== undefined);
    const env = { ...cleanEnvironment, ...(Object.fromEntries(given) as Record<string, string>) };
    const child = startProgram(this.program, order, { prefix: undefined, env, files, complaints: 'ignore' });
    const kill = () => killGroup(child.pid);
    signal.addEventListener('abort', kill);
    if (signal.aborted) kill();
    try {
      const gone = Promise.race([once(child, 'close'), once(child, 'error')]).catch(() => undefined);
      const said = await text(child.stdout!).catch(() => '');
      await gone;
      return said.endsWith('\n') ? (JSON.parse(said) as UploadAnswer) : undefined;
    } finally {
      signal.removeEventListener('abort', kill);
      child.stdin!.destroy();
    }
  }

  private fileOf({ record, file }: Upload, key: string, index: number): FileToUpload {
    const { storageClass, applyStorageClassIfOverBytes: over } = record;
    const facts = [taskOf(record), file.path, file.ino, file.mtimeMs, file.size];
    const headers = this.settings.objstoreContentHeaders.find(({ filenameEndsWith }) =>
      file.name.endsWith(filenameEndsWith),
    );
    return {
      file: firstFile + index,
      bucket: record.objstoreBucket,
      key,
      size: file.size,
      id: createHash('sha256').update(JSON.stringify(facts)).digest('hex'),
      keys: this.keysOf(record.objstoreBucket),
      storageClass: over === undefined || file.size > over ? storageClass : undefined,
      contentType: headers?.contentType,
      contentEncoding: headers?.contentEncoding,
    };
  }

  private keysOf(bucket: string): FileToUpload['keys'] {
    const { bucketKeys } = this.target;
    const { objstoreAccessKey, objstoreSecretKey } = Object.hasOwn(bucketKeys, bucket)
      ? bucketKeys[bucket]!
      : this.target;
    if (objstoreAccessKey === undefined || objstoreSecretKey === undefined) return undefined;
    return { accessKeyId: objstoreAccessKey, secretAccessKey: objstoreSecretKey };
  }
}

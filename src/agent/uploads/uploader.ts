import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, readdir, rm, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { objectKey } from '../../core/logs/index.js';
import { backOffMillis } from '../../core/back-off.js';
import type { AgentContext } from '../agent-context.js';
import type { LogSettings } from '../settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { messageOf, readIfThere } from '../../platform/files.js';
import { recordEnding, uploadRecordsOf } from '../logs/records.js';
import { UploadRecord } from '../logs/upload-record.js';
import { openDirectoryBelow, placeIn } from '../sandbox/below.js';
import { shownName } from '../sandbox/names.js';
import { filesOf, type FoundFile, isSame, openFiles, openFound } from './found-files.js';
import type { UploadCounts } from './upload-counts.js';
import { Progress, progressEnding } from './progress.js';

/** Each is an open file. */
const mostAtOnce = 32;
const firstPauseMillis = 5_000;
const megabyte = 1024 * 1024;

/** One file on its way to the store. */
export interface Upload {
  record: UploadRecord;
  file: FoundFile;
  handle: FileHandle;
  key: string;
  /** It may be there under this key already, whole. */
  again: boolean;
  /** True when another file has the key, as far as the agent knows. */
  isTaken(key: string): boolean;
  /** Awaited before the first byte goes out under this key. */
  begin(key: string): Promise<void>;
  /** It is in the store. */
  end(): Promise<void>;
  /** It is not, for now. `ofStore`: nor would any other file be. */
  fail(reason: string, ofStore: boolean): void;
}

export interface UploadStore {
  /** Calls `end` or `fail` of each, or neither when the agent stops. */
  uploadAll(uploads: readonly Upload[], signal: AbortSignal): Promise<void>;
  /** It takes no larger file, ever. */
  readonly mostBytes?: number;
  readonly kept?: { bytes: number; objects: number; removed: number };
  /** From time to time. */
  sweep?(now: number, signal: AbortSignal): Promise<void>;
}

/** Context of an uploader. */
export interface UploadContext extends Pick<AgentContext, 'log' | 'stopping' | 'now'> {
  directory: Pick<AgentDirectory, 'uploadRecords' | 'archive'>;
  settings: LogSettings;
  /** Names of records of tasks that have ended, to be uploaded at once. */
  finishedUploads: Set<string> | undefined;
  uploads: UploadCounts;
}

/** Uploads what the records of tasks name: of tasks that have ended at once, of others from time to time. */
export class Uploader {
  /** Names of records to be looked at. */
  private readonly due = new Set<string>();
  /** Buckets that take nothing for now, and records of which something cannot be uploaded; with the records that wait. */
  private readonly failing = new Map<string, { inRow: number; until: number; names: Set<string> }>();
  private nextRoundAt = -Infinity;

  constructor(
    private readonly uploading: UploadContext,
    private readonly store: UploadStore,
  ) {}

  /** Does what there is to do by now. */
  async runOnce(): Promise<void> {
    const { finishedUploads, settings, stopping } = this.uploading;
    if (performance.now() >= this.nextRoundAt) {
      await this.beginRound();
      this.nextRoundAt = performance.now() + settings.checkUploadsEverySeconds * 1_000;
    }
    for (const name of finishedUploads ?? []) this.due.add(name);
    finishedUploads?.clear();
    for (const { until, names } of this.failing.values()) {
      if (performance.now() < until) continue;
      for (const name of names) this.due.add(name);
      names.clear();
    }
    while (this.due.size > 0 && !stopping.aborted) await this.pass();
    this.metrics.kept = this.store.kept ?? this.metrics.kept;
  }

  private get metrics() {
    return this.uploading.uploads;
  }

  private async beginRound(): Promise<void> {
    const { stopping, now } = this.uploading;
    await this.store.sweep?.(now(), stopping);
    const names = await readdir(this.place).catch(() => []);
    const records = new Set(names.filter((name) => name.endsWith(recordEnding)));
    for (const name of records) this.due.add(name);
    // Of records that were removed as the last thing.
    for (const name of names.filter((other) => other.endsWith(progressEnding)))
      if (!records.has(name.slice(0, -progressEnding.length) + recordEnding))
        await rm(join(this.place, name), { force: true });
  }

  private get place(): string {
    return uploadRecordsOf(this.uploading);
  }

  /** So many files as are opened at a time, of one record or of several. */
  private async pass(): Promise<void> {
    const { stopping } = this.uploading;
    const checked: RecordPass[] = [];
    let count = 0;
    // Tasks with many files take turns with the others.
    const share = Math.max(1, Math.floor(mostAtOnce / this.due.size));
    // A file that several records name goes by the first of them.
    const taken = new Set<string>();
    for (const name of this.due) {
      if (count >= mostAtOnce || stopping.aborted) break;
      this.due.delete(name);
      const pass = await this.startPass(name, share, taken).catch((cause: unknown) => this.warn(name, cause));
      if (!pass) continue;
      checked.push(pass);
      count += pass.uploads.length;
    }
    try {
      const uploads = checked.flatMap((pass) => pass.uploads);
      if (uploads.length > 0) await this.store.uploadAll(uploads, stopping);
    } finally {
      for (const { uploads } of checked) for (const { handle } of uploads) await handle.close();
    }
    for (const pass of checked) await this.conclude(pass).catch((cause: unknown) => this.warn(pass.name, cause));
  }

  /** undefined: there is nothing to do, or not now. */
  private async startPass(name: string, atMost: number, taken: Set<string>): Promise<RecordPass | undefined> {
    const record = await this.read(name);
    if (!record) return this.metrics.forget(name);
    this.metrics.note(name, record.finished);
    for (const place of [bucketOf(record), name]) {
      const failing = this.failing.get(place);
      if (failing && performance.now() < failing.until) return void failing.names.add(name);
    }
    const progress = await Progress.open(join(this.place, name.slice(0, -recordEnding.length) + progressEnding));
    const found = await this.wanted(record, progress);
    const pass: RecordPass = {
      name,
      record,
      progress,
      uploads: [],
      isWhole: true,
      hopeless: new Set(),
      failures: [],
    };
    for (const file of found) {
      const place = join(record.sandbox, file.path);
      if (pass.uploads.length === atMost || taken.has(place)) {
        pass.isWhole = false;
        continue;
      }
      const handle = this.isTooLarge(file) ? undefined : await openFound(record.sandbox, file);
      if (!handle) {
        pass.hopeless.add(file.path);
        continue;
      }
      pass.uploads.push(this.upload(pass, file, handle, pass.uploads.length));
      taken.add(place);
    }
    return pass;
  }

  private isTooLarge({ size }: FoundFile): boolean {
    const { maxUploadFileMegabytes } = this.uploading.settings;
    return size > Math.min(maxUploadFileMegabytes * megabyte, this.store.mostBytes ?? Infinity);
  }

  private async wanted(record: UploadRecord, progress: Progress): Promise<FoundFile[]> {
    const found = await filesOf(record, (file) => progress.isDone(file)).catch(unlessGone);
    if (record.uploadImmediately || !this.uploading.settings.checkForOpenFiles) return found;
    const open = await openFiles(record, found);
    return found.filter((file) => !open.has(file));
  }

  private upload(pass: RecordPass, file: FoundFile, handle: FileHandle, index: number): Upload {
    const { record, progress } = pass;
    const begun = progress.keyOf(file);
    const name = shownName(file.name);
    const facts = { name, changedAt: file.mtimeMs, index, guid: randomUUID(), host: hostname() };
    return {
      record,
      file,
      handle,
      key: begun ?? objectKey(record.objstoreKeyFormat, facts),
      again: begun !== undefined,
      isTaken: (key) => begun !== key && progress.isTaken(key),
      begin: async (key) => {
        progress.begin(file, key);
        await progress.save();
      },
      end: async () => {
        const isAsItWas = isSame(await handle.stat(), file);
        // What was written meanwhile goes the same way by the next look.
        if (!isAsItWas) return;
        const stays = record.keepsFiles || !(await removeFound(record.sandbox, file).then(always, () => false));
        progress.end(file, stays);
        this.metrics.uploaded(file.size);
      },
      fail: (reason, ofStore) => void pass.failures.push({ reason: `${name}: ${reason}`, ofStore }),
    };
  }

  private async conclude({ name, record, progress, uploads, isWhole, hopeless, failures }: RecordPass): Promise<void> {
    const { stopping } = this.uploading;
    if (uploads.length > 0) await progress.save();
    if (stopping.aborted) return;
    if (failures.length > 0) return this.putOff(name, record, failures);
    if (uploads.length > 0) for (const place of [bucketOf(record), name]) this.failing.delete(place);
    const left = record.finished && isWhole ? await this.wanted(record, progress) : [];
    const isOver = record.finished && isWhole && left.every(({ path }) => hopeless.has(path));
    if (!isOver) {
      if (!isWhole || left.length > 0) this.due.add(name);
      return;
    }
    if (hopeless.size > 0) this.uploading.log.warn(`${name}: ${hopeless.size} files are too large, or not the task's`);
    await rm(join(this.place, name), { force: true });
    await progress.remove();
    this.metrics.forget(name);
  }

  /** Nothing of the record, or of all that go to the bucket, is tried for a while: longer and longer, up to a round. */
  private putOff(name: string, record: UploadRecord, failures: RecordPass['failures']): void {
    const { log, settings } = this.uploading;
    this.metrics.failed(failures.length);
    const ofStore = failures.find((failure) => failure.ofStore);
    const place = ofStore ? bucketOf(record) : name;
    const before = this.failing.get(place);
    const names = before?.names ?? new Set();
    names.add(name);
    // Those of one pass are one failure.
    if (before && performance.now() < before.until) return;
    const inRow = (before?.inRow ?? 0) + 1;
    const pause = backOffMillis(inRow, firstPauseMillis, settings.checkUploadsEverySeconds * 1_000);
    this.failing.set(place, { inRow, until: performance.now() + pause, names });
    if (inRow === 1) log.warn(`Not uploaded for now, ${place}: ${(ofStore ?? failures[0])?.reason}`);
  }

  /** undefined: it has gone, or says nothing that can be done. */
  private async read(name: string): Promise<UploadRecord | undefined> {
    const path = join(this.place, name);
    const text = await readIfThere(path);
    if (text === undefined) return undefined;
    try {
      return UploadRecord.parse(JSON.parse(text));
    } catch {
      this.uploading.log.warn(`${name} is not a list of files to upload; removed`);
      await rm(path, { force: true });
      return undefined;
    }
  }

  private warn(name: string, cause: unknown): undefined {
    if (!this.uploading.stopping.aborted) this.uploading.log.warn(`Upload of ${name}: ${messageOf(cause)}`);
  }
}

interface RecordPass {
  name: string;
  record: UploadRecord;
  progress: Progress;
  uploads: Upload[];
  /** All that was found is among them. */
  isWhole: boolean;
  /** Paths of files that are too large, or not the task's own. */
  hopeless: Set<string>;
  failures: { reason: string; ofStore: boolean }[];
}

const bucketOf = ({ objstoreBucket }: UploadRecord): string => `bucket ${objstoreBucket}`;

/** The sandbox has gone. */
function unlessGone(cause: unknown): FoundFile[] {
  if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw cause;
}

const always = () => true;

/** Unless the task has put another file in its place. */
async function removeFound(sandbox: string, file: FoundFile): Promise<void> {
  const directory = await openDirectoryBelow(sandbox, dirname(file.path), 'NONE');
  if (!directory) return;
  try {
    const path = placeIn(directory.handle, file.name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats && isSame(stats, file)) await unlink(path);
  } finally {
    await directory.handle.close();
  }
}

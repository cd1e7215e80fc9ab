import { randomUUID } from 'node:crypto';
import { type FileHandle, lstat, readdir, rm, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { objectKey } from '../../core/logs/index.js';
import type { AgentContext } from '../agent-context.js';
import type { LogSettings } from '../settings.js';
import type { AgentDirectory } from '../state/agent-directory.js';
import { messageOf, readIfThere } from '../../platform/files.js';
import { recordEnding, uploadRecordsOf } from '../logs/records.js';
import { UploadRecord } from '../logs/upload-record.js';
import { openDirectoryBelow, placeIn } from '../sandbox/below.js';
import { shownName } from '../sandbox/names.js';
import { filesOf, type FoundFile, isSame, mostFiles, openFiles, openFound } from './found-files.js';
import type { FailureReach } from './order.js';
import { Pauses } from './pauses.js';
import { Progress, progressEnding, type Refusal } from './progress.js';
import type { UploadCounts } from './upload-counts.js';
import type { Upload, UploadStore } from './upload-store.js';

/** Each is an open file. */
const mostAtOnce = 32;
const megabyte = 1024 * 1024;

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
  private readonly pauses: Pauses;
  private nextRoundAt = -Infinity;

  constructor(
    private readonly uploading: UploadContext,
    private readonly store: UploadStore,
  ) {
    this.pauses = new Pauses(uploading.settings.checkUploadsEverySeconds * 1_000);
  }

  /** Does what there is to do by now. */
  async runOnce(): Promise<void> {
    const { finishedUploads, settings, stopping } = this.uploading;
    if (performance.now() >= this.nextRoundAt) {
      await this.beginRound();
      this.nextRoundAt = performance.now() + settings.checkUploadsEverySeconds * 1_000;
    }
    for (const name of finishedUploads ?? []) this.due.add(name);
    finishedUploads?.clear();
    for (const name of this.pauses.takeDue()) this.due.add(name);
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
    const withoutRecord = names.filter(
      (name) => name.endsWith(progressEnding) && !records.has(name.slice(0, -progressEnding.length) + recordEnding),
    );
    // An agent that was killed while it saved its progress has left these.
    const halves = names.filter((name) => name.includes(`${progressEnding}.`));
    for (const name of [...withoutRecord, ...halves]) await rm(join(this.place, name), { force: true });
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
    if (!record) return this.forget(name);
    this.metrics.note(name, record.finished);
    for (const place of [bucketOf(record), name]) if (this.pauses.holds(place, name)) return undefined;
    const progress = await Progress.open(join(this.place, name.slice(0, -recordEnding.length) + progressEnding));
    const wanted = await this.wanted(record, progress);
    // Those that are refused again and again keep no other from being tried.
    const found = wanted.toSorted((a, b) => Number(progress.isRefused(a)) - Number(progress.isRefused(b)));
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
    const found = await filesOf(record, (file) => progress.isOver(file)).catch(unlessGone);
    if (record.uploadImmediately || !this.uploading.settings.checkForOpenFiles) return found;
    const open = await openFiles(record, found);
    return found.filter((file) => !open.has(file));
  }

  private upload(pass: RecordPass, file: FoundFile, handle: FileHandle, index: number): Upload {
    const { record, progress } = pass;
    const { now } = this.uploading;
    const begun = progress.keyOf(file);
    const name = shownName(file.name);
    const facts = { name, changedAt: file.mtimeMs, index, guid: randomUUID(), host: hostname() };
    const key = begun ?? objectKey(record.objstoreKeyFormat, facts);
    return {
      record,
      file,
      handle,
      key,
      again: begun !== undefined,
      isTaken: (other) => begun !== other && progress.isTaken(other),
      begin: async (taken) => {
        progress.begin(file, taken);
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
      fail: (reason, reach) => {
        const refusal = reach === 'FILE' ? progress.refuse(file, key, now()) : undefined;
        pass.failures.push({ reason: `${name}: ${reason}`, reach, refusal });
      },
    };
  }

  private async conclude(pass: RecordPass): Promise<void> {
    const { name, record, progress, uploads, isWhole, hopeless, failures } = pass;
    const { stopping, log } = this.uploading;
    if (uploads.length > 0) await progress.save();
    if (stopping.aborted) return;
    if (failures.length > 0) this.noteFailures(pass);
    const isStoreThere = uploads.length > 0 && failures.every(({ reach }) => reach !== 'STORE');
    if (isStoreThere) this.pauses.end(bucketOf(record));
    const isHeldUp = failures.some(({ refusal }) => refusal !== 'LAST');
    if (isHeldUp && (isWhole || !hasMoved(pass))) return this.putOff(pass);
    if (isStoreThere) this.pauses.end(name);
    const left = record.finished && isWhole ? await this.wanted(record, progress) : [];
    const isOver = record.finished && isWhole && left.every(({ path }) => hopeless.has(path));
    if (!isOver) {
      if (!isWhole || left.length > 0) this.due.add(name);
      return;
    }
    if (hopeless.size > 0) log.warn(`${name}: ${hopeless.size} files are too large, or not the task's`);
    await rm(join(this.place, name), { force: true });
    await progress.remove();
    this.forget(name);
  }

  private noteFailures({ name, failures }: RecordPass): void {
    this.metrics.failed(failures.length);
    const lost = failures.filter(({ refusal }) => refusal === 'LAST');
    if (lost.length === 0) return;
    const given = `${lost.length} files are given up and stay in the sandbox, the store has refused them for a day`;
    this.uploading.log.warn(`${name}: ${given}. The first, ${lost[0]!.reason}`);
  }

  /** Nothing of the record, or of all that go to the bucket, is tried for a while. */
  private async putOff({ name, record, progress, hopeless, failures }: RecordPass): Promise<void> {
    const ofStore = failures.find(({ reach }) => reach === 'STORE');
    const place = ofStore ? bucketOf(record) : name;
    if (this.pauses.begin(place, name))
      this.uploading.log.warn(`Not uploaded for now, ${place}: ${(ofStore ?? failures[0])?.reason}`);
    const left = record.finished ? await this.wanted(record, progress) : [];
    const isRefused = (file: FoundFile) => progress.isRefused(file) || hopeless.has(file.path);
    this.metrics.noteRefused(name, left.length > 0 && left.length < mostFiles && left.every(isRefused));
  }

  private forget(name: string): undefined {
    this.pauses.end(name);
    this.metrics.forget(name);
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
  /** `refusal`: of one with the reach FILE. */
  failures: { reason: string; reach: FailureReach; refusal: Refusal | undefined }[];
}

/** The next files of the record need not wait for those that failed: nothing but these was refused, and not all of it once more. */
const hasMoved = ({ uploads, failures }: RecordPass): boolean =>
  failures.every(({ reach }) => reach === 'FILE') &&
  (failures.length < uploads.length || failures.some(({ refusal }) => refusal !== 'AGAIN'));

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

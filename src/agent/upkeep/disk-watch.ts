import { readdir, readlink, stat, statfs } from 'node:fs/promises';
import type { Log } from '../../platform/log.js';
import { bytesOfMb, errorCode } from '../../platform/files.js';
import { bytesOnDisk, diskUse, type DiskUse, TooDeep } from '../sandbox/disk-use.js';
import type { SavedKill } from '../state/task-directory.js';
import type { ProcessStat } from '../processes/process-identity.js';
import { reservedBytes } from '../sandbox/disk-space.js';

/** Between two measurements of one task: so many times as long as it took, within these bounds. */
const pauseForMeasuring = 4;
const leastPauseMillis = 2_000;
const mostPauseMillis = 8_000;

/** Interval while the disk is almost full. */
const hurriedMillis = 1_000;

/** One look at all tasks takes about so long; what is left of a measurement goes on with the next look. */
const checkMillis = 250;
const leastSliceMillis = 10;

/** So much more than the reserve must be free before tasks are started again. */
const enough = 1.1;

interface Measurement {
  walk?: AsyncGenerator<DiskUse, void>;
  /** Start times of the present and of the last measurement, on the clock of performance.now. */
  begunAt: number;
  dueAt: number;
  /** Without the time between two looks. */
  tookMillis: number;
  bytes: number;
}

interface BoundedTask {
  spec: { diskMb: number };
  sandbox: { root: string };
  /** Its processes have other names for its files. Absent: they have the same. */
  isElsewhere?: boolean;
  /** Directories it may write to, as far as they count. */
  diskDirectories: string[];
  isRunning: boolean;
  processes(): ProcessStat[];
  requestKill(graceMillis: 0, because: SavedKill['because']): Promise<void>;
}

/** State of the disk, which decides if tasks are started, and is reported with the machines. */
interface DiskState {
  readonly isDiskFull: boolean;
  noteDisk(isFull: boolean): void;
}

interface DiskWatchContext {
  directory: { root: string; sandboxes: string };
  settings: { reservedDiskMb?: number };
  log: Log;
  /** Artifacts stored for future tasks. */
  artifacts: { makeRoom(bytes: number): void };
  /** Absent: containers are not its own. */
  engines?: { readonly storage: string | undefined };
}

/** Sees to it that tasks keep to their disk, and that some of it stays free for the agent and for the tasks that run. */
export class DiskWatch {
  private readonly measurements = new Map<BoundedTask, Measurement>();

  constructor(
    private readonly context: DiskWatchContext,
    private readonly tasks: { live(): BoundedTask[] },
    private readonly machines: DiskState,
  ) {}

  /** One look: at what is free, and for a moment at each task that may take so much and no more. */
  async check(): Promise<void> {
    await this.checkSpace();
    const limited = this.tasks.live().filter((run) => run.isRunning && run.spec.diskMb > 0);
    for (const run of this.measurements.keys()) if (!limited.includes(run)) this.forget(run);
    const largestFirst = limited.toSorted((a, b) => this.of(b).bytes - this.of(a).bytes);
    const due = largestFirst.filter((run) => this.isDue(this.of(run)));
    const failures: unknown[] = [];
    for (const run of due)
      await this.measure(run, Math.max(leastSliceMillis, checkMillis / due.length)).catch((cause: unknown) =>
        failures.push(cause),
      );
    if (failures.length > 0) throw failures[0];
  }

  private async checkSpace(): Promise<void> {
    const { directory, settings, log, engines } = this.context;
    const was = this.machines.isDiskFull;
    // Sandboxes and images may lie on other disks than what the agent writes.
    const places = new Set([directory.root, directory.sandboxes]);
    const storage = engines?.storage;
    const ofImages = storage === undefined ? undefined : await statfs(storage).catch(() => undefined);
    const disks = [...(await Promise.all([...places].map((path) => statfs(path)))), ...(ofImages ? [ofImages] : [])];
    const spaces = disks.map((disk) => ({ free: disk.bavail * disk.bsize, reserve: reservedBytes(settings, disk) }));
    const full = spaces.find(({ free, reserve }) => free < (was ? reserve * enough : reserve));
    const isFull = full !== undefined;
    // What is kept for tasks to come gives way first.
    if (full) this.context.artifacts.makeRoom(full.reserve * enough - full.free);
    if (full && !was)
      log.warn(`Less than ${Math.ceil(full.reserve / bytesOfMb(1))} MB of disk space are free; no task is started`);
    if (!isFull && was) log.info('Enough disk space is free again');
    this.machines.noteDisk(isFull);
  }

  private isDue({ walk, begunAt, dueAt }: Measurement): boolean {
    const due = this.machines.isDiskFull ? Math.min(dueAt, begunAt + hurriedMillis) : dueAt;
    return walk !== undefined || performance.now() >= due;
  }

  private async measure(run: BoundedTask, sliceMillis: number): Promise<void> {
    const found = this.of(run);
    const limit = bytesOfMb(run.spec.diskMb);
    try {
      if (!found.walk) Object.assign(found, { begunAt: performance.now(), tookMillis: 0 });
      found.walk ??= useOf(run);
      for (const until = performance.now() + sliceMillis; performance.now() < until;) {
        const asked = performance.now();
        const { value, done } = await found.walk.next();
        found.tookMillis += performance.now() - asked;
        if (done) return this.end(found);
        found.bytes = value.bytes;
        if (value.bytes > limit) return await this.exceed(run, found);
      }
    } catch (cause) {
      // What cannot be measured cannot be bounded.
      if (cause instanceof TooDeep) return this.exceed(run, found);
      this.end(found);
      throw cause;
    }
  }

  private async exceed(run: BoundedTask, found: Measurement): Promise<void> {
    await found.walk?.return();
    this.end(found);
    // One that is being killed loses what is left of its grace.
    await run.requestKill(0, { diskExceededMb: run.spec.diskMb });
  }

  private end(found: Measurement): void {
    found.walk = undefined;
    const now = performance.now();
    const pause = found.tookMillis * pauseForMeasuring;
    found.dueAt = now + Math.min(Math.max(pause, leastPauseMillis), mostPauseMillis);
  }

  private of(run: BoundedTask): Measurement {
    const known = this.measurements.get(run);
    if (known) return known;
    const begun: Measurement = { begunAt: -Infinity, dueAt: -Infinity, tookMillis: 0, bytes: 0 };
    this.measurements.set(run, begun);
    return begun;
  }

  private forget(run: BoundedTask): void {
    void this.measurements.get(run)?.walk?.return();
    this.measurements.delete(run);
  }
}

/** Disk use of the sandbox, and of open files that have no name there any more. */
async function* useOf(run: BoundedTask): AsyncGenerator<DiskUse, void> {
  let before: DiskUse = { bytes: await bytesWithoutName(run), files: 0 };
  for (const root of run.diskDirectories) {
    let last = before;
    for await (const { bytes, files } of diskUse(root))
      yield (last = { bytes: before.bytes + bytes, files: before.files + files });
    before = last;
  }
}

const mostOpenFiles = 5_000;

async function bytesWithoutName(run: BoundedTask): Promise<number> {
  const found = new Map<number, number>();
  const { dev } = await stat(run.sandbox.root);
  let checked = 0;
  for (const { pid } of run.processes())
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      if (++checked > mostOpenFiles) return sum(found);
      const path = `/proc/${pid}/fd/${fd}`;
      const name = await readlink(path).catch((cause: unknown) =>
        errorCode(cause) === 'ENAMETOOLONG' ? undefined : '',
      );
      // A name may be too long to be told.
      const isWithoutName =
        name === undefined ||
        ((run.isElsewhere || name.startsWith(`${run.sandbox.root}/`)) && name.endsWith(' (deleted)'));
      if (!isWithoutName) continue;
      const stats = await stat(path).catch(() => undefined);
      if (stats?.isFile() && stats.nlink === 0 && stats.dev === dev) found.set(stats.ino, bytesOnDisk(stats));
    }
  return sum(found);
}

const sum = (found: ReadonlyMap<number, number>): number => [...found.values()].reduce((all, bytes) => all + bytes, 0);

import { constants, lstatSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { backOffMillis } from '../../core/back-off.js';
import { messageOf } from '../../platform/files.js';
import { isAlive, type ProcessStat, readStat } from '../processes/process-identity.js';
import { allPids, signal, userOf } from '../processes/processes.js';
import type { RunAs } from '../processes/run-as.js';
import { openFileBelow } from '../sandbox/below.js';
import type { Sandbox } from '../sandbox/sandbox-layout.js';
import { readJournal, settle } from './journal.js';
import type { RotateAnswer } from './order.js';
import { additionalLogs, type LoggedLaunch, mainLogs, type TaskLog } from './plan.js';
import { firstFile, Worker } from './programs.js';
import {
  compressionOf,
  compressResults,
  moveToResults,
  nameOfResult,
  removeIfEmpty,
  removeSurplus,
} from './results.js';
import { type LogContext, writeRecords } from './records.js';
import { isDue } from './schedule.js';
import { saveTail } from './tail.js';

interface LoggedTask {
  spec: LoggedLaunch;
  sandbox: Sandbox;
  runAs: Pick<RunAs, 'uid' | 'gid' | 'own' | 'prefix'> | undefined;
  processes(): ProcessStat[];
  /** Present: it has another view of the files than the agent. */
  elsewhere?: LogsElsewhere;
}

/** What differs where a task sees its files in another place, and does not write its output itself. */
interface LogsElsewhere {
  /** Directory of the cgroup with all that may write to the sandbox; undefined: not known now, and its files stay as they are. */
  group(): string | undefined;
  /** Moves an output to its results: what follows goes to a new one. */
  rotate(log: TaskLog, now: number): Promise<void>;
  /** Since when there has been the output of a name as it is. Epoch millis. */
  beganAt(name: string): Promise<number>;
}

const { O_DIRECTORY, O_RDONLY } = constants;
const journalName = 'logrotate.status';

/** A rotation that came to nothing, because writers did not stand still or a program failed, is tried again after this. */
const tryAgainMillis = 10_000;

/**
 * Longest pause for a log that fails again and again, such as on a full disk: twice as long each time, and never
 * longer.
 */
const longestPauseMillis = 10 * 60_000;

/** An earlier agent's program ends with it, but for a moment in which it must not. */
const longestHandoverMillis = 5_000;

/** The logs of one task: rotates them while it runs, and puts them in order when it has ended. */
export class TaskLogs {
  /** Path below the sandbox. */
  private readonly journal: string;
  /** Epoch millis, by path of a log. */
  private readonly rotatedAt = new Map<string, number>();
  private beganAt: number;
  private sizesDueAt = -Infinity;
  private checkedAt = -Infinity;
  private notBefore = -Infinity;
  /** Some are there that no rotation of its own made. */
  private hasOtherResults = false;
  /** By path of a log: how often in a row it could not be rotated. */
  private readonly failures = new Map<string, { inRow: number; notBefore: number }>();
  /** Last logged problem of them: it is logged once. */
  private complaint: string | undefined;
  private worker: Worker | undefined;
  private working: Promise<void> | undefined;
  private beginning: Promise<void> | undefined;
  /** Aborted when the task has ended, and when the agent stops. */
  private readonly over = new AbortController();

  constructor(
    private readonly context: LogContext,
    private readonly target: LoggedTask,
  ) {
    const { root, executor, area = executor?.directory ?? root } = target.sandbox;
    this.journal = join(relative(root, area), journalName);
    this.beganAt = context.now();
  }

  private get isOver(): boolean {
    return this.over.signal.aborted;
  }

  get isBusy(): boolean {
    return this.working !== undefined;
  }

  /** The task's program runs. */
  begin(): Promise<void> {
    this.beginning = this.tryTo('write the records of its logs', () => writeRecords(this.context, this.target, false));
    return this.beginning;
  }

  /** Takes over the logs of a task that an earlier agent left: its rotation is finished, or undone. */
  async restore(): Promise<void> {
    const { root } = this.target.sandbox;
    this.beganAt = lastChange(join(root, this.journal)) ?? lastChange(root) ?? this.beganAt;
    for (const { path } of this.logsOfAgent()) this.rotatedAt.set(path, await this.target.elsewhere!.beganAt(path));
    const left = await readJournal(root, this.journal);
    if (left) await this.untilGone(left);
    await this.settle();
  }

  /** There are results that are to be compressed. */
  noteResults(): void {
    this.hasOtherResults = true;
  }

  /** Begins what is due; answers whether anything is. */
  async rotateIfDue(now: number): Promise<boolean> {
    if (this.isBusy || this.isOver || now < this.notBefore) return false;
    const logs = await this.due(now);
    if ((logs.length === 0 && !this.hasOtherResults) || this.isBusy || this.isOver) return false;
    this.hasOtherResults = false;
    this.working = this.rotate(logs, now).finally(() => (this.working = undefined));
    return true;
  }

  /** Resolves when a rotation that was under way has ended. */
  async settled(): Promise<void> {
    await this.working;
  }

  /** Leaves what is under way to the next agent. */
  detach(): void {
    this.over.abort();
    this.worker?.kill();
  }

  /** No process of the task is left. Everything but the compression of long logs is done when this resolves. */
  async finish(): Promise<void> {
    const { spec, sandbox } = this.target;
    const { context } = this;
    this.over.abort();
    this.worker?.kill();
    await this.working;
    await this.beginning;
    await this.settle();
    const { executor } = sandbox;
    const [serviceLog] = executor ? mainLogs(spec, sandbox, context.settings) : [];
    if (executor && serviceLog)
      await this.tryTo('save the tail of the log', () =>
        saveTail(sandbox.root, executor, context.settings.tailLogLinesToSave),
      );
    const extension = compressionOf(context.settings).extension;
    const now = context.now();
    const how = { ...context, signal: context.stopping, onlySmall: true };
    for (const log of [...(serviceLog ? [serviceLog] : []), ...(await additionalLogs(sandbox, context.settings))])
      await this.tryTo(`rotate ${log.path}`, async () => {
        if (await moveToResults(log, extension, now))
          await compressResults(how, log.root, basename(log.path), log.into);
      });
    if (serviceLog) await this.tryTo('remove the empty log', () => removeIfEmpty(sandbox.root, serviceLog.path));
  }

  /** Compresses the remaining results of logs that have ended. The sandbox may be closed by now. */
  async compressAll(signal = this.context.stopping): Promise<void> {
    const { sandbox, spec } = this.target;
    const { settings } = this.context;
    // Of those that have ended only the results are there.
    const further = await additionalLogs(sandbox, settings, this.isOver ? 'WITH_RESULTS' : 'THERE');
    const logs = [...mainLogs(spec, sandbox, settings), ...further];
    for (const { root, path, into } of logs)
      await this.tryTo('compress a log', () =>
        compressResults({ ...this.context, signal }, root, basename(path), into),
      );
    for (const log of logs) await this.tryTo('remove old logs', () => this.removeSurplus(log));
    if (this.isOver && !signal.aborted)
      await this.tryTo('finish the records of its logs', () => writeRecords(this.context, this.target, true));
  }

  private async due(now: number): Promise<TaskLog[]> {
    const { spec, sandbox } = this.target;
    const { settings } = this.context;
    const checkSizes = now >= this.sizesDueAt;
    if (checkSizes) this.sizesDueAt = now + settings.checkLogSizesEveryMillis;
    const logs = mainLogs(spec, sandbox, settings);
    // Their names are looked for when a look at sizes is due, or a period of the shortest frequency is over.
    if (settings.logrotateAdditionalFiles.length > 0 && (checkSizes || isDue('EVERY_MINUTE', this.checkedAt, now))) {
      logs.push(...(await additionalLogs(sandbox, settings)));
      this.checkedAt = now;
    }
    const due: TaskLog[] = [];
    const { elsewhere } = this.target;
    const areWritersKnown = !elsewhere || elsewhere.group() !== undefined;
    for (const log of logs) {
      if (log.root === sandbox.root && !areWritersKnown) continue;
      const { inRow = 0, notBefore = -Infinity } = this.failures.get(log.path) ?? {};
      if (now < notBefore) continue;
      const last = this.rotatedAt.get(log.path) ?? this.beganAt;
      const isTime = log.frequency !== undefined && isDue(log.frequency, last, now);
      const checksSize = (checkSizes || inRow > 0) && log.maxBytes !== undefined;
      if (!isTime && !checksSize) continue;
      const size = await sizeOf(log.root, log.path);
      if (isTime && size === 0) this.rotatedAt.set(log.path, now);
      if (size > (isTime ? 0 : (log.maxBytes ?? Infinity))) due.push(log);
    }
    return due;
  }

  private async rotate(logs: readonly TaskLog[], now: number): Promise<void> {
    const { sandbox, elsewhere } = this.target;
    for (const log of logs.filter(({ root }) => root !== sandbox.root)) {
      const trouble = await elsewhere!.rotate(log, now).then(() => undefined, messageOf);
      const answer = trouble === undefined ? { rotated: [log.path] } : { failed: log.path, trouble };
      this.note(answer, [log], { now, tookMillis: 0 });
    }
    const inSandbox = logs.filter(({ root }) => root === sandbox.root);
    if (inSandbox.length > 0) await this.rotateInSandbox(inSandbox, now);
    if (this.context.stopping.aborted || this.isOver) return;
    await this.settle();
    await this.compressAll(this.over.signal);
  }

  private async rotateInSandbox(logs: readonly TaskLog[], now: number): Promise<void> {
    const { sandbox, runAs, elsewhere } = this.target;
    const { settings, rotateProgram } = this.context;
    this.notBefore = now + tryAgainMillis;
    const group = elsewhere?.group();
    // Its user has no other way there.
    const place = elsewhere && (await open(sandbox.root, O_RDONLY | O_DIRECTORY).catch(() => undefined));
    if (elsewhere && (!place || group === undefined)) return void (await place?.close());
    const worker = new Worker(
      rotateProgram,
      {
        root: place ? `/proc/self/fd/${firstFile}/.` : sandbox.root,
        group,
        user: runAs && { uid: runAs.uid, gid: runAs.gid },
        isOwnUser: runAs?.own ?? false,
        journal: this.journal,
        logs: logs.map((each) => ({ path: each.path, into: each.into, name: nameOfResult(each, now) })),
        compression: compressionOf(settings),
        seconds: settings.logRotationTimeoutSeconds,
      },
      { prefix: runAs?.prefix, files: place && [place.fd] },
    );
    this.worker = worker;
    await place?.close();
    const began = performance.now();
    const answer = await worker.answer;
    const tookMillis = performance.now() - began;
    this.worker = undefined;
    if (this.context.stopping.aborted) return;
    if (answer?.trouble === undefined && answer?.busy?.length === 0) this.notBefore = now;
    this.note(answer ?? { trouble: 'the program that rotates them ended early' }, logs, { now, tookMillis });
  }

  /** Those that the task does not write itself. */
  private logsOfAgent(): TaskLog[] {
    const { spec, sandbox } = this.target;
    return mainLogs(spec, sandbox, this.context.settings).filter(({ root }) => root !== sandbox.root);
  }

  /**
   * A log that could not be rotated is tried again by itself, however long its period: the disk may be full until then.
   */
  private note(
    { rotated = [], failed, trouble }: RotateAnswer,
    logs: readonly TaskLog[],
    { now, tookMillis }: { now: number; tookMillis: number },
  ): void {
    for (const path of rotated) {
      this.rotatedAt.set(path, now);
      this.failures.delete(path);
    }
    const failures = trouble === undefined ? [] : failed !== undefined ? [failed] : logs.map(({ path }) => path);
    for (const path of failures) {
      const inRow = (this.failures.get(path)?.inRow ?? 0) + 1;
      // What took long before it failed does not take all of the time.
      const pause = Math.max(tookMillis, backOffMillis(inRow, tryAgainMillis, longestPauseMillis));
      this.failures.set(path, { inRow, notBefore: now + tookMillis + pause });
    }
    if (this.isOver || trouble === this.complaint) return;
    const { taskId } = this.target.spec;
    if (trouble !== undefined) this.context.log.warn(`Task ${taskId}: could not rotate logs: ${trouble}`);
    else if (this.failures.size === 0) this.context.log.info(`Task ${taskId}: its logs are rotated again`);
    else return;
    this.complaint = trouble;
  }

  /** Writers that stood still for a rotation that was interrupted go on. */
  private async settle(): Promise<void> {
    const { root } = this.target.sandbox;
    const isSettled = await settle(root, this.journal).catch((cause: unknown) => {
      this.warn('settle the rotation of its logs', cause);
      return true;
    });
    if (!isSettled) return;
    for (const found of this.stoppable()) if (found.state === 'T') signal(found, 'SIGCONT');
  }

  private stoppable(): ProcessStat[] {
    const { runAs } = this.target;
    const marked = this.target.processes();
    if (!runAs?.own) return marked;
    return [...marked, ...processesOfUser(runAs.uid)];
  }

  private async untilGone(rotating: { pid: number; startTime: string }): Promise<void> {
    const deadline = performance.now() + longestHandoverMillis;
    while (isAlive(rotating) && performance.now() < deadline) await delay(10);
    // Said by a file of the task: nothing but what it could end itself is ended.
    if (isAlive(rotating) && userOf(rotating.pid) === (this.target.runAs?.uid ?? process.getuid?.()))
      signal(rotating, 'SIGKILL');
  }

  private removeSurplus(log: TaskLog): Promise<void> {
    const { logrotateCount: count, logrotateMaxageDays: maxAgeDays } = this.context.settings;
    return removeSurplus(log, { count, maxAgeDays }, this.context.now());
  }

  private async tryTo(what: string, work: () => Promise<unknown>): Promise<void> {
    await work().catch((cause: unknown) => this.warn(what, cause));
  }

  private warn(what: string, cause: unknown): void {
    this.context.log.warn(`Task ${this.target.spec.taskId}: could not ${what}: ${messageOf(cause)}`);
  }
}

async function sizeOf(root: string, path: string): Promise<number> {
  const file = await openFileBelow(root, path, 'NONE');
  await file?.handle.close();
  return file?.stats.size ?? 0;
}

function lastChange(path: string): number | undefined {
  try {
    return lstatSync(path).mtimeMs;
  } catch {
    return undefined;
  }
}

const processesOfUser = (uid: number): ProcessStat[] =>
  allPids()
    .filter((pid) => userOf(pid) === uid)
    .flatMap((pid) => readStat(pid) ?? []);

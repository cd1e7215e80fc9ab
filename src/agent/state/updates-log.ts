import { open, readFile, truncate, type FileHandle } from 'node:fs/promises';
import { isTerminal } from '../../core/model/enums.js';
import type { StatusUpdate } from '../../cluster/cluster-driver.js';
import { monotonicMillis } from '../../platform/monotonic.js';
import { isMissing, writeDurably } from '../../platform/files.js';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../platform/log.js';

export type NewUpdate = Omit<StatusUpdate, 'number' | 'agentId' | 'incarnation' | 'timestamp'>;

/** `steadyAt`: when it happened, by the monotonic clock of the machine, which goes on when the other clock is set. */
type Entry = StatusUpdate & { steadyAt?: number };

/** First line of the file. Updates up to this number are stored by the scheduler. */
interface Header {
  acknowledged: number;
}

const rewriteAboveBytes = 1024 * 1024;

/**
 * The agent's status updates, numbered 1, 2, 3, ... and on disk until the scheduler has stored them. An update exists
 * once it is on disk: only then is it handed out, so that a number is never used for two things.
 */
export class UpdatesLog {
  private readonly entries: Entry[] = [];
  private waiting: { update: Entry; done: (failure?: unknown) => void }[] = [];
  /** Everything that touches the file, one after the other. */
  private queue: Promise<void> = Promise.resolve();
  /** A write failed: what it left behind the last good byte is cut off before the next one. */
  private dirty = false;
  private readonly listeners = new Set<() => void>();
  private readonly states = new Map<string, Entry>();

  private constructor(
    private readonly path: string,
    private readonly source: { agentId: string; incarnation: string },
    private file: FileHandle,
    private bytes: number,
    private acknowledgedNumber: number,
    private lastNumber: number,
  ) {}

  static async open(path: string, source: { agentId: string; incarnation: string }): Promise<UpdatesLog> {
    const { header, updates } = await load(path);
    const file = await open(path, 'a');
    const last = Math.max(header.acknowledged, ...updates.slice(-1).map((update) => update.number));
    const log = new UpdatesLog(path, source, file, (await file.stat()).size, header.acknowledged, last);
    for (const update of updates) log.admit(update);
    return log;
  }

  /** Number of the newest update on disk; 0: none yet. */
  get last(): number {
    return this.lastNumber;
  }

  get acknowledged(): number {
    return this.acknowledgedNumber;
  }

  /** The newest update of a task, acknowledged or not. */
  latest(taskId: string): StatusUpdate | undefined {
    return this.states.get(taskId);
  }

  /**
   * Resolves when the update is on disk. Updates appended together share one write. It happened at `at`, by the monotonic clock, and
   * not before the one that its task told last.
   */
  append(update: NewUpdate, at = monotonicMillis()): Promise<void> {
    const { agentId, incarnation } = this.source;
    const steadyAt = Math.max(at, this.states.get(update.taskId)?.steadyAt ?? at);
    const timestamp = wallTimeOf(steadyAt);
    const result = new Promise<void>((resolve, reject) => {
      this.waiting.push({
        // The number is given when it is written, so that a failed write leaves no gap.
        update: { agentId, incarnation, number: 0, ...update, timestamp, steadyAt },
        done: (failure) => (failure === undefined ? resolve() : reject(failure)),
      });
    });
    if (this.waiting.length === 1) this.queue = this.queue.then(() => this.writeWaiting());
    return result;
  }

  /** At most `limit` updates with higher numbers, in order, with times by the clock as it is set now. */
  after(number: number, limit: number): StatusUpdate[] {
    const first = this.entries.findIndex((update) => update.number > number);
    return first < 0 ? [] : this.entries.slice(first, first + limit).map((entry) => this.announced(entry));
  }

  /** The monotonic clock of another incarnation was another one. */
  private announced({ steadyAt, ...update }: Entry): StatusUpdate {
    const isOurs = update.incarnation === this.source.incarnation;
    return isOurs && steadyAt !== undefined ? { ...update, timestamp: wallTimeOf(steadyAt) } : update;
  }

  /** Resolves when there is something after `number`, after `waitMillis`, or when `signal` aborts. */
  async waitFor(number: number, waitMillis: number, signal: AbortSignal): Promise<void> {
    if (this.lastNumber > number || waitMillis === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.listeners.delete(finish);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, waitMillis);
      this.listeners.add(finish);
      signal.addEventListener('abort', finish);
    });
  }

  /** Ends of tasks up to `number` that were not acknowledged before. */
  endsUpTo(number: number): StatusUpdate[] {
    return this.entries.filter((update) => update.number <= number && isTerminal(update.state) && isOfTask(update));
  }

  /** Everything up to `number` may be forgotten, but for the newest update of each task that has not ended. */
  async acknowledge(number: number): Promise<void> {
    if (number <= this.acknowledgedNumber) return;
    this.acknowledgedNumber = number;
    // Should this file have lost updates that were stored, their numbers must not be given a second time.
    this.lastNumber = Math.max(this.lastNumber, number);
    const kept = this.entries.findIndex((update) => update.number > number);
    for (const update of this.entries.splice(0, kept < 0 ? this.entries.length : kept)) {
      const isNewest = this.states.get(update.taskId)?.number === update.number;
      if (isNewest && isTerminal(update.state)) this.states.delete(update.taskId);
    }
    if (this.bytes > rewriteAboveBytes) await this.inTurn(() => this.rewrite());
  }

  /** Wakes every call that waits for an update, for news that are not updates. */
  wake(): void {
    for (const listener of this.listeners) listener();
  }

  async close(): Promise<void> {
    this.wake();
    await this.inTurn(async () => {
      await this.rewrite();
      await this.file.close();
    });
  }

  private admit(update: Entry): void {
    if (update.number > this.acknowledgedNumber) this.entries.push(update);
    else if (isTerminal(update.state)) return;
    if (isOfTask(update)) this.states.set(update.taskId, update);
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.queue.then(work);
    this.queue = result.catch(() => undefined);
    return result;
  }

  private async writeWaiting(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    batch.forEach(({ update }, index) => (update.number = this.lastNumber + index + 1));
    try {
      await this.writeDurably(batch.map(({ update }) => `${JSON.stringify(update)}\n`).join(''));
    } catch (failure) {
      for (const { done } of batch) done(failure);
      return;
    }
    this.lastNumber = Math.max(this.lastNumber, batch.at(-1)?.update.number ?? 0);
    for (const { update, done } of batch) {
      this.admit(update);
      done();
    }
    this.wake();
  }

  private async writeDurably(lines: string): Promise<void> {
    if (this.dirty) await truncate(this.path, this.bytes);
    this.dirty = true;
    await this.file.appendFile(lines);
    await this.file.datasync();
    this.dirty = false;
    this.bytes += Buffer.byteLength(lines);
  }

  private async rewrite(): Promise<void> {
    const header: Header = { acknowledged: this.acknowledgedNumber };
    const lastStates = [...this.states.values()].filter((update) => update.number <= this.acknowledgedNumber);
    const lines = [header, ...lastStates, ...this.entries].map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeDurably(this.path, lines);
    await this.file.close();
    this.file = await open(this.path, 'a');
    this.dirty = false;
    this.bytes = Buffer.byteLength(lines);
  }
}

/** Not of a command or another program in it: those say nothing of its state. */
const isOfTask = ({ shellCommand, program }: StatusUpdate): boolean => !shellCommand && !program;

/** Epoch milliseconds of a moment of the monotonic clock, by the machine's clock as it is set now. */
const wallTimeOf = (steadyAt: number): number => Math.round(Date.now() - (monotonicMillis() - steadyAt));

/** A last line without its end was never handed out: it is cut off. */
async function load(path: string): Promise<{ header: Header; updates: Entry[] }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    await writeDurably(path, `${JSON.stringify({ acknowledged: 0 } satisfies Header)}\n`);
    return { header: { acknowledged: 0 }, updates: [] };
  }
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  if (complete.length < text.length) await truncate(path, Buffer.byteLength(complete));
  const [header, ...updates] = complete.split('\n').filter(Boolean);
  return {
    header: JSON.parse(header ?? '{"acknowledged":0}') as Header,
    updates: updates.map((line) => JSON.parse(line) as Entry),
  };
}

/** The agent stops: whatever was under way is taken up by the next agent, from what is on disk. */
export class AgentStops extends Error {}

const retryMillis = 1_000;

/** Resolves when the update is on disk. The disk may be full for a while; the update is not lost to that. Throws AgentStops. */
export async function appendPatiently(
  { updates, log, stopping }: { updates: UpdatesLog; log: Log; stopping: AbortSignal },
  what: string,
  update: NewUpdate,
  at?: number,
): Promise<void> {
  for (;;) {
    if (stopping.aborted) throw new AgentStops();
    try {
      return await updates.append(update, at);
    } catch (cause) {
      log.error(`Task ${update.taskId}: cannot write down ${what}, trying again`, cause);
      await delay(retryMillis);
    }
  }
}

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerError } from '../../platform/errors.js';

/** Longest search of one part of a file. One that is meant to find something takes a few milliseconds. */
export const longestSearchMillis = 1_000;
/** Searches at a time. */
const mostThreads = 2;
/** Searches of one caller that may wait, and callers whose searches may wait. */
const mostWaitingOfCaller = 20;
const mostWaiting = 200;
/** A thread without work goes after so long. */
const idleMillis = 30_000;
/** A thread that needs more memory is ended. The largest expressions that are let through compile in a tenth of it. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 };

const program = new URL('./line-search-worker.mjs', import.meta.url);

interface Search {
  text: string;
  expression: string;
  /** Only where the first match begins. */
  first: boolean;
  resolve(found: Match): void;
  reject(cause: Error): void;
}

/** at: of the first match, in characters; -1: there is none. */
type Match = { lines: string } | { at: number };
type SearchOutcome = Match | { problem: string };

/**
 * Searches text for an expression of a caller, in threads: the engine needs time linear in the text, but times the size of the
 * expression's program, and a caller chooses both. A search that takes too long is ended with its thread. Callers take turns,
 * so that one with many such searches holds up its own.
 */
@Injectable()
export class LineSearch implements OnModuleDestroy {
  private readonly waiting = new Map<string, Search[]>();
  private readonly idle = new Set<SearchThread>();
  private busy = 0;

  /** The lines of the text that match, each with its newline. */
  async search(caller: string, text: string, expression: string): Promise<string> {
    const found = await this.ask(caller, { text, expression, first: false });
    return 'lines' in found ? found.lines : '';
  }

  /** Position at which the first match begins, in characters; undefined: nowhere. */
  async findFirst(caller: string, text: string, expression: string): Promise<number | undefined> {
    const found = await this.ask(caller, { text, expression, first: true });
    return 'at' in found && found.at >= 0 ? found.at : undefined;
  }

  private ask(caller: string, asked: Pick<Search, 'text' | 'expression' | 'first'>): Promise<Match> {
    const own = this.waiting.get(caller) ?? [];
    const inAll = [...this.waiting.values()].reduce((sum, { length }) => sum + length, 0);
    if (own.length >= mostWaitingOfCaller || inAll >= mostWaiting) {
      const message = `${own.length} searches of yours wait already, ${inAll} in all; try again`;
      throw new SchedulerError('UNAVAILABLE', message);
    }
    return new Promise((resolve, reject) => {
      this.waiting.set(caller, [...own, { ...asked, resolve, reject }]);
      void this.work();
    });
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.idle].map((thread) => thread.end()));
  }

  private async work(): Promise<void> {
    if (this.busy >= mostThreads) return;
    this.busy++;
    for (let next = this.takeNext(); next; next = this.takeNext()) await this.answer(next);
    this.busy--;
  }

  private async answer({ resolve, reject, ...asked }: Search): Promise<void> {
    const [kept] = this.idle;
    if (kept) this.idle.delete(kept);
    const thread = kept?.take() ? kept : new SearchThread((ended) => this.idle.delete(ended));
    try {
      const found = await thread.search(asked);
      this.idle.add(thread);
      thread.rest();
      if ('problem' in found) reject(wrongExpression('pattern', `is not a regular expression: ${found.problem}`));
      else resolve(found);
    } catch (cause) {
      await thread.end();
      reject(cause as Error);
    }
  }

  /** Takes a search of the caller that has waited longest since its last turn. */
  private takeNext(): Search | undefined {
    const [entry] = this.waiting;
    if (!entry) return undefined;
    const [caller, [next, ...others]] = entry;
    this.waiting.delete(caller);
    if (others.length > 0) this.waiting.set(caller, others);
    return next;
  }
}

class SearchThread {
  private readonly worker = new Worker(program, { resourceLimits });
  private readonly online = once(this.worker, 'online');
  private resting: NodeJS.Timeout | undefined;
  private ended = false;

  constructor(private readonly onEnd: (thread: SearchThread) => void) {
    this.worker.unref();
    this.online.catch(() => undefined);
    // Of a thread that no search waits for. Without a listener it would end the process.
    this.worker.on('error', () => void this.end());
  }

  /** Its time counts from when the thread runs: to start one takes longer on a machine under load. */
  async search(asked: Pick<Search, 'text' | 'expression' | 'first'>): Promise<SearchOutcome> {
    await this.online;
    const over = new AbortController();
    const stop = () => over.abort();
    const answered = once(this.worker, 'message', { signal: over.signal });
    const limit = setTimeout(stop, longestSearchMillis);
    this.worker.once('exit', stop);
    this.worker.postMessage(asked);
    try {
      const [found] = (await answered) as [SearchOutcome];
      return found;
    } catch (cause) {
      if (!isTooMuch(cause)) throw cause;
      const what = `takes more than ${longestSearchMillis} ms, or too much memory, for this part of the file: simplify it`;
      throw wrongExpression('time', what, cause);
    } finally {
      clearTimeout(limit);
      this.worker.off('exit', stop);
    }
  }

  /** Nothing to do for now. */
  rest(): void {
    this.resting = setTimeout(() => void this.end(), idleMillis).unref();
  }

  /** Something to do again; false: it has ended meanwhile. */
  take(): boolean {
    clearTimeout(this.resting);
    return !this.ended;
  }

  async end(): Promise<void> {
    this.ended = true;
    this.onEnd(this);
    clearTimeout(this.resting);
    await this.worker.terminate();
  }
}

/** The end of the time, of the thread's memory or of its stack: what the caller's expression can bring about. */
const isTooMuch = (cause: unknown): boolean =>
  cause instanceof RangeError ||
  ['ABORT_ERR', 'ERR_WORKER_OUT_OF_MEMORY'].includes((cause as NodeJS.ErrnoException).code ?? '');

function wrongExpression(rule: string, what: string, cause?: unknown): SchedulerError {
  const message = `grep ${what}`;
  return new SchedulerError('INVALID_PARAMETER', message, { cause, errors: [{ field: 'grep', rule, message }] });
}

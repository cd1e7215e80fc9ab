import type { CallOptions } from 'rest-contract/client';
import { MusterError, ServiceUnreachable } from '../errors.js';
import { anySignal, pause } from '../transport.js';

export interface WaitOptions {
  /** Gives up; the wait is rejected with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait in all; then it is rejected with a `TimeoutError`. Unless given, there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Time for which the service may be away meanwhile, as while it is started again; 60 seconds unless given. */
  readonly patienceMs?: number | undefined;
}

const PATIENCE_MS = 60_000;

/** One wait: asks again and again, a little slower each time nothing has changed, and outlasts a service that is away for a while. */
export class Waiting {
  /** For calls that belong to this wait. */
  readonly call: CallOptions;
  private readonly signal: AbortSignal | undefined;
  private readonly patienceMs: number;
  private awaySince: number | undefined;
  private pauseMs: number;

  constructor(
    what: string,
    { signal, timeoutMs, patienceMs = PATIENCE_MS }: WaitOptions,
    private readonly shortestMs: number,
    private readonly longestMs: number,
  ) {
    const signals = [signal, timeoutMs === undefined ? undefined : expiry(what, timeoutMs)].filter((one) => !!one);
    this.signal = signals.length > 1 ? anySignal(...signals) : signals[0];
    this.call = { signal: this.signal };
    this.patienceMs = patienceMs;
    this.pauseMs = shortestMs;
  }

  /** The answer; undefined while the service is away. */
  async ask<T>(read: (options: CallOptions) => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await read(this.call);
      this.isBack();
      return answer;
    } catch (cause) {
      this.signal?.throwIfAborted();
      this.bear(cause);
      return undefined;
    }
  }

  /** The service answers. */
  isBack(): void {
    this.awaySince = undefined;
  }

  /** Throws what is no mere absence of the service, and an absence that takes too long. */
  bear(cause: unknown): void {
    const isAway = cause instanceof MusterError ? cause.status === 503 : cause instanceof ServiceUnreachable;
    this.awaySince ??= performance.now();
    if (!isAway || performance.now() - this.awaySince > this.patienceMs) throw cause;
  }

  /** Before it asks again, or until this is signalled. */
  async pause(until?: AbortSignal): Promise<void> {
    const signal = until && this.signal ? anySignal(until, this.signal) : (until ?? this.signal);
    await pause(this.pauseMs, signal).catch(() => this.signal?.throwIfAborted());
    this.pauseMs = Math.min(this.longestMs, this.pauseMs * 1.5);
  }

  /** Something has changed: more may follow soon. */
  quicken(): void {
    this.pauseMs = this.shortestMs;
  }
}

function expiry(what: string, timeoutMs: number): AbortSignal {
  const controller = new AbortController();
  const timer: unknown = setTimeout(
    () => controller.abort(new DOMException(`${what} took longer than ${timeoutMs} ms`, 'TimeoutError')),
    timeoutMs,
  );
  // In Node.js a timer holds its process; the wait itself does that as long as it goes on.
  (timer as { unref?: () => void }).unref?.();
  return controller.signal;
}

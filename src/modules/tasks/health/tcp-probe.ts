import { connect } from 'node:net';
import { failureOf, type ProbeResult } from './http-probe.js';
import type { TimedQueue } from './timed-queue.js';

interface TcpTarget {
  host: string;
  port: number;
  timeoutMillis: number;
}

/** Connects once, and ends the connection: a program that accepts it passes. Every failure is a result, never an error. */
export async function tcpProbe(target: TcpTarget, signal: AbortSignal, timers: TimedQueue): Promise<ProbeResult> {
  const { host, port, timeoutMillis } = target;
  const ending = new AbortController();
  const cancelLimit = timers.after(timeoutMillis, () =>
    ending.abort(new Error(`No answer within ${timeoutMillis} ms`)),
  );
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host, port });
      const stop = (settle: () => void) => {
        ending.signal.removeEventListener('abort', tooLate);
        socket.destroy();
        settle();
      };
      const tooLate = () => stop(() => reject(ending.signal.reason as Error));
      socket.once('connect', () => stop(resolve));
      socket.once('error', (cause) => stop(() => reject(cause)));
      ending.signal.addEventListener('abort', tooLate, { once: true });
      if (ending.signal.aborted) tooLate();
    });
    return { statusCode: 200, responseBody: 'The connection was accepted', refused: false };
  } catch (cause) {
    return failureOf(cause);
  } finally {
    cancelLimit();
    signal.removeEventListener('abort', end);
  }
}

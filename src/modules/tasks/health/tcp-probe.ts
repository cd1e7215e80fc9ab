import { connect } from 'node:net';
import { type ProbeResult, withinLimit } from './probe-result.js';
import type { TimedQueue } from './timed-queue.js';

interface TcpTarget {
  host: string;
  port: number;
  timeoutMillis: number;
}

/** Connects once, and ends the connection: a program that accepts it passes. Every failure is a result, never an error. */
export const tcpProbe = (
  { host, port, timeoutMillis }: TcpTarget,
  signal: AbortSignal,
  timers: TimedQueue,
): Promise<ProbeResult> =>
  withinLimit(timeoutMillis, signal, timers, async (ending) => {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host, port });
      const stop = (settle: () => void) => {
        ending.removeEventListener('abort', tooLate);
        socket.destroy();
        settle();
      };
      const tooLate = () => stop(() => reject(ending.reason as Error));
      socket.once('connect', () => stop(resolve));
      socket.once('error', (cause) => stop(() => reject(cause)));
      ending.addEventListener('abort', tooLate, { once: true });
      if (ending.aborted) tooLate();
    });
    return { statusCode: 200, responseBody: 'The connection was accepted', refused: false };
  });

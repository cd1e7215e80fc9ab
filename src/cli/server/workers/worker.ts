import type { Socket } from 'node:net';
import { surviveClosedTerminal } from '../announce.js';
import type { Beginning, Failure, FromWorker, ToWorker } from './messages.js';
import type { Serving } from './serving.js';

/**
 * An API worker: a process of `muster start` that serves the API and never leads (workers.ts starts and ends it). That process
 * accepts connections for it. Here is the channel between the two; the service itself is loaded when it is to begin.
 */
const tell = (message: FromWorker): Promise<void> =>
  new Promise((resolve) => process.send!(message, undefined, {}, () => resolve()));

// A terminal, or a supervisor, sends them to all processes of the group. The one that started this one says when it is to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
surviveClosedTerminal();
let serving: Serving | undefined;
let isOver = false;
process.once('disconnect', () => process.exit(0));
if (!process.connected) process.exit(0);
process.on('message', (message: ToWorker, socket?: Socket) => {
  if (message.kind === 'connection') void take(message.no, socket);
  else if (message.kind === 'begin') void begin(message);
  else if (message.kind === 'ask') void serving?.answer(message).then(tell);
  else if (message.kind === 'heard') serving?.heard(message.no);
  else {
    isOver = true;
    void end();
  }
});
void tell({ kind: 'ready' });

async function begin(beginning: Beginning): Promise<void> {
  try {
    const { serve } = await import('./serving.js');
    serving = await serve(beginning, tell);
    if (isOver) return await end();
    await tell({ kind: 'serves', id: serving.id });
  } catch (cause) {
    await tell({ kind: 'failed', failure: await failureOf(cause) });
    process.exit(1);
  }
}

/** Nothing is read of it before the other process knows. It may have ended on its way. */
async function take(no: number, socket: Socket | undefined): Promise<void> {
  await tell({ kind: 'took', no });
  if (socket) serving?.take(socket);
}

/** While it begins there is nothing to end yet: then it does so when it has begun. */
async function end(): Promise<void> {
  if (!serving) return;
  await serving.end();
  process.exit(0);
}

async function failureOf(cause: unknown): Promise<Failure> {
  const { StartError } = await import('../../../platform/errors.js');
  const { message, stack, code, syscall, address, port } = (
    cause instanceof Error ? cause : new Error(String(cause))
  ) as Error & Omit<Failure, 'isStartError'>;
  return { message, stack, code, syscall, address, port, isStartError: cause instanceof StartError };
}

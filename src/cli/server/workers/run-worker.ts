import cluster from 'node:cluster';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { StartError } from '../../../platform/errors.js';
import { ProcessMessages } from '../../../platform/process/process-messages.js';
import type { ProcessMetrics } from '../../../platform/process/process-role.js';
import { surviveClosedTerminal } from '../announce.js';
import type { LeaderRequests, WorkerFailure, WorkerOptions, WorkerRequests } from './protocol.js';
import { type Envelope, RequestChannel } from './request-channel.js';

/** The other processes are asked at the same time, each for a second. */
const deliveredWithinMillis = 2_000;

/** What an API worker serves once it has started. */
export interface ApiServer {
  instanceId: string;
  server: Server;
  metrics(): Promise<ProcessMetrics>;
  /** Resolves when the calls that are being answered have their answers. */
  close(): Promise<void>;
}

/**
 * Runs this process as an API worker, a process of node:cluster, which ends it with the leader. `start` is called once the leader has
 * said with what; each connection comes from there (worker-pool.ts).
 */
export function runWorker(start: (options: WorkerOptions, messages: ProcessMessages) => Promise<ApiServer>): void {
  // A terminal, or a supervisor, sends these to all processes of the group. The leader says when this one is to stop.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  surviveClosedTerminal();
  const self = cluster.worker!;
  let api: ApiServer | undefined;
  let isStopping = false;

  const send = (message: Envelope): void => {
    if (self.isConnected()) self.send(message, () => undefined);
  };
  const leader = new RequestChannel<LeaderRequests, WorkerRequests>(send, {
    connection: async (_none, socket) => {
      // Nothing is read of it before the leader has given it up.
      await leader.request('takeConnection', undefined);
      // It may have ended on its way.
      if (socket) api?.server.emit('connection', socket);
    },
    heartbeat: () => undefined,
    metrics: () => api?.metrics(),
    deliver: (message) => messages.receive(message),
    stop: () => {
      isStopping = true;
      void stop();
    },
  });
  const messages = new ProcessMessages((message) => leader.request('publish', message, deliveredWithinMillis));
  self.on('message', (message: Envelope, socket?: Socket) => void leader.receive(message, socket));
  void run();

  async function run(): Promise<void> {
    const options = await leader.request('options', undefined);
    if (!options) process.exit(0);
    try {
      api = await start(options, messages);
    } catch (cause) {
      await leader.request('failed', failureOf(cause));
      process.exit(1);
    }
    if (isStopping) await stop();
    else leader.notify('serving', api.instanceId);
  }

  /** While the worker starts there is nothing to end yet: then it stops as soon as it has started. */
  async function stop(): Promise<void> {
    if (!api) return;
    await api.close();
    process.exit(0);
  }
}

function failureOf(cause: unknown): WorkerFailure {
  const { message, stack, code, syscall, address, port } = (
    cause instanceof Error ? cause : new Error(String(cause))
  ) as Error & Omit<WorkerFailure, 'isStartError'>;
  return { message, stack, code, syscall, address, port, isStartError: cause instanceof StartError };
}

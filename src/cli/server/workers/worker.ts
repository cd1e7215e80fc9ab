import cluster from 'node:cluster';
import { ProcessMessages } from '../../../platform/process/process-messages.js';
import { surviveClosedTerminal } from '../../output/streams.js';
import type { ApiServer, LeaderRequests, StartServer, WorkerRequests } from './protocol.js';
import { RequestChannel } from './request-channel.js';

/**
 * The program of an API worker: a process of node:cluster, which ends it with the leader. The module that it serves is its argument,
 * and is loaded once the leader has said with what: an order to stop is heard at once.
 */

/** The other processes are asked at the same time, each for a second. */
const deliveredWithinMillis = 2_000;

// A terminal, or a supervisor, sends these to all processes of the group. The leader says when this one is to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
surviveClosedTerminal();
let api: ApiServer | undefined;
let isStopping = false;

const leader: RequestChannel<LeaderRequests, WorkerRequests> = new RequestChannel<LeaderRequests, WorkerRequests>(
  cluster.worker!,
  {
    connection: async (_none, socket) => {
      // Nothing is read of it before the leader will hear of it, even if this process ends now.
      await leader.notify('takeConnection', undefined);
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
  },
);
const messages: ProcessMessages = new ProcessMessages((message) =>
  leader.request('publish', message, deliveredWithinMillis),
);
void run();

async function run(): Promise<void> {
  const options = await leader.request('options', undefined);
  if (!options) process.exit(0);
  try {
    const { startServer } = (await import(process.argv[2]!)) as { startServer: StartServer };
    api = await startServer(options, messages);
  } catch (cause) {
    const { describeFailure } = await import('../report-failure.js');
    await leader.request('failed', describeFailure(cause));
    process.exit(1);
  }
  if (isStopping) await stop();
  else void leader.notify('serving', api.instanceId);
}

/** While the worker starts there is nothing to end yet: then it stops as soon as it has started. */
async function stop(): Promise<void> {
  if (!api) return;
  await api.close();
  process.exit(0);
}

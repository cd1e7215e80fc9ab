import { createServer, type ServerResponse } from 'node:http';
import { Counter, Registry } from 'prom-client';
import { StartError } from '../../../src/platform/errors.js';
import type { ProcessMessage } from '../../../src/platform/process/process-messages.js';
import type { StartServer } from '../../../src/cli/server/workers/protocol.js';

/**
 * Served by an API worker in place of the API: answers with its process id. `/hold`: once it is to stop. `/publish`: when the message
 * that it publishes is delivered. `/received`: what others have published. `/limit`: how many calls it answers at a time.
 */
export const startServer: StartServer = async ({ number, settings: { dataDir, http } }, messages) => {
  if (dataDir === '/broken') throw new StartError(`No data in ${dataDir}`);
  const registry = new Registry();
  const calls = new Counter({ name: 'calls_total', help: 'Calls that were answered', registers: [registry] });
  const held = new Set<ServerResponse>();
  const received: ProcessMessage['content'][] = [];
  messages.subscribe('token-created', (content) => void received.push(content));
  const server = createServer(async ({ url }, response) => {
    calls.inc();
    response.setHeader('Connection', 'close');
    if (url === '/hold') return void held.add(response);
    if (url === '/limit') return void response.end(String(http.maxConcurrentCalls));
    if (url === '/publish') {
      messages.publish('token-created', { owner: `of worker ${number}` });
      await messages.delivered();
    }
    response.end(url === '/received' ? JSON.stringify(received) : String(process.pid));
  });
  return {
    instanceId: `worker-${number}`,
    server,
    metrics: () => registry.getMetricsAsJSON(),
    close: async () => {
      await Promise.all([...held].map((response) => new Promise<void>((resolve) => response.end('held', resolve))));
    },
  };
};

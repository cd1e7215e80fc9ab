import { runWorker } from './run-worker.js';

/** The program of an API worker. What it serves is loaded when it is to start: an order to stop is heard at once. */
runWorker(async (options, messages) => {
  const { startApiServer } = await import('./api-server.js');
  return startApiServer(options, messages);
});

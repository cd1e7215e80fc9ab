import { createServer } from 'node:net';
import { join } from 'node:path';
import { endTasksOn } from '../../agent/file-address/port-holders.js';
import type { NumberRange } from '../../agent/users/user-numbers.js';
import { say } from './announce.js';

/** Each task that is ended may have waited with others. */
const mostRounds = 20;

interface PortClaim {
  host: string;
  port: number;
  taskUsers: NumberRange;
  agentFolder: string;
}

/**
 * A task that outlived a scheduler may have taken its port, to be sent the tokens of callers and to keep the next one from
 * starting. It is ended. What belongs to others keeps the port, and the start fails with a line that says so.
 */
export async function clearPort({ host, port, taskUsers, agentFolder }: PortClaim): Promise<void> {
  if (port === 0) return;
  for (let round = 0; round < mostRounds && (await isTaken(host, port)); round++) {
    const done = await endTasksOn(port, taskUsers, join(agentFolder, 'sandboxes'));
    if (done.length === 0) return;
    done.forEach(say);
  }
}

function isTaken(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', (cause: NodeJS.ErrnoException) => resolve(cause.code === 'EADDRINUSE'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)));
  });
}

import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Args, HttpErrorException, serve, type Service } from 'rest-contract';
import { nodeListener } from 'rest-contract/node';
import { AgentApi, bearer, type TrustedApi } from './agent-api.js';
import type { Log } from '../agent-context.js';

/** The agent's side of the wire: a caller that knows the secret gets to the operations. */
export class GuardedAgent implements Service<typeof AgentApi> {
  private readonly wanted: Buffer;

  constructor(
    secret: string,
    private readonly operations: Service<typeof TrustedApi>,
  ) {
    this.wanted = Buffer.from(bearer(secret));
  }

  trusted({ authorization }: Args<typeof AgentApi, 'trusted'>): Service<typeof TrustedApi> {
    const given = Buffer.from(authorization);
    // In constant time: how long a wrong one takes tells nothing about the right one.
    if (given.length !== this.wanted.length || !timingSafeEqual(given, this.wanted))
      throw new HttpErrorException(401, 'The secret is missing or wrong');
    return this.operations;
  }
}

export async function startServer(
  agent: Service<typeof AgentApi>,
  listen: { host: string; port: number },
  log: Log,
): Promise<{ server: Server; port: number }> {
  const onError = (error: unknown, { operation }: { operation: string }) => log.error(`${operation} failed`, error);
  const server = createServer(nodeListener(serve(AgentApi, agent, { onError })));
  // Long polls are open for as long as they wait; only a request that never becomes complete is cut off.
  server.requestTimeout = 60_000;
  // Longer than the scheduler keeps an idle connection, so that it is never closed just as a call comes in.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

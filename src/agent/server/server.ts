import { timingSafeEqual } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Args, HttpErrorException, type Service } from 'rest-contract';
import { type AgentApi, bearer, type TrustedApi } from '../wire/agent-api.js';

/** Checks that a call carries one of the secrets. */
export function guard(...secrets: readonly string[]): (authorization: string) => void {
  const wanted = secrets.map((secret) => Buffer.from(bearer(secret)));
  return (authorization) => {
    const given = Buffer.from(authorization);
    // In constant time: how long a wrong one takes tells nothing about the right one.
    if (!wanted.some((each) => given.length === each.length && timingSafeEqual(given, each)))
      throw new HttpErrorException(401, 'The secret is missing or wrong');
  };
}

/** The agent's side of the wire: a caller that knows the secret gets to the operations. */
export class GuardedAgent implements Service<typeof AgentApi> {
  private readonly check: (authorization: string) => void;

  constructor(
    secret: string,
    private readonly operations: Service<typeof TrustedApi>,
  ) {
    this.check = guard(secret);
  }

  trusted({ authorization }: Args<typeof AgentApi, 'trusted'>): Service<typeof TrustedApi> {
    this.check(authorization);
    return this.operations;
  }
}

/** Answers the port. */
export async function startServer(server: Server, listen: { host: string; port: number }): Promise<number> {
  // Long polls are open for as long as they wait; only a request that never becomes complete is cut off.
  server.requestTimeout = 60_000;
  // Longer than the scheduler keeps an idle connection, so that it is never closed just as a call comes in.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(listen, resolve);
  });
  return (server.address() as AddressInfo).port;
}

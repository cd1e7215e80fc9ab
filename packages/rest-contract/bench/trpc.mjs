import { createTRPCClient, httpLink } from '@trpc/client';
import { initTRPC } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { z } from 'zod';
import { closed } from './rest-contract.mjs';

const t = initTRPC.create();
const Input = z.object({ id: z.string(), verbose: z.boolean(), name: z.string() });
const router = t.router({
  rename: t.procedure.input(Input).mutation(async ({ input: { id, verbose, name } }) => ({ id, verbose, name })),
});

export async function openTrpc() {
  const server = createHTTPServer({ router });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const inProcess = (url, init) =>
    fetchRequestHandler({ endpoint: '/', req: new Request(url, init), router, createContext: () => ({}) });
  const near = createTRPCClient({ links: [httpLink({ url: 'http://in.process/', fetch: inProcess })] });
  const far = createTRPCClient({ links: [httpLink({ url: `http://127.0.0.1:${server.address().port}` })] });
  const caller = t.createCallerFactory(router)({});
  return {
    inMemory: (args) => near.rename.mutate(args),
    loopback: (args) => far.rename.mutate(args),
    directCall: (args) => caller.rename(args),
    close: () => closed(server),
  };
}

import { createServer } from 'node:http';
import { z } from 'zod';
import { connect, contract, field, path, post, query, serve } from 'rest-contract';
import { fetchBackend } from 'rest-contract/fetch';
import { nodeListener } from 'rest-contract/node';

const Answer = z.object({ id: z.string(), verbose: z.boolean(), name: z.string() });
const Api = contract('Api', {
  rename: post({ id: path(z.string()), verbose: query(z.boolean()), name: field(z.string()) }, Answer),
});

export async function openRestContract() {
  const handle = serve(Api, { rename: async ({ id, verbose, name }) => ({ id, verbose, name }) });
  const server = createServer(nodeListener(handle));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const near = connect(Api, handle);
  const far = connect(Api, fetchBackend(`http://127.0.0.1:${server.address().port}`));
  return { inMemory: near.rename, loopback: far.rename, close: () => closed(server) };
}

export const closed = (server) =>
  new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });

import { initClient, initContract, tsRestFetchApi } from '@ts-rest/core';
import { createExpressEndpoints, initServer } from '@ts-rest/express';
import { fetchRequestHandler, tsr } from '@ts-rest/serverless/fetch';
import express from 'express';
import { z } from 'zod';
import { closed } from './rest-contract.mjs';

const Answer = z.object({ id: z.string(), verbose: z.boolean(), name: z.string() });
const contract = initContract().router({
  rename: {
    method: 'POST',
    path: '/rename/:id',
    pathParams: z.object({ id: z.string() }),
    query: z.object({ verbose: z.stringbool() }),
    body: z.object({ name: z.string() }),
    responses: { 200: Answer },
  },
});
const rename = async ({ params: { id }, query: { verbose }, body: { name } }) => ({
  status: 200,
  body: { id, verbose, name },
});

export async function openTsRest() {
  const app = express();
  app.use(express.json());
  createExpressEndpoints(contract, initServer().router(contract, { rename }), app);
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const router = tsr.router(contract, { rename });
  const near = initClient(contract, {
    baseUrl: 'http://in.process',
    api: async ({ path, method, headers, body }) => {
      const request = new Request(path, { method, headers, body });
      const response = await fetchRequestHandler({ contract, router, request, options: {} });
      return { status: response.status, body: await response.json(), headers: response.headers };
    },
  });
  const far = initClient(contract, { baseUrl: `http://127.0.0.1:${server.address().port}`, api: tsRestFetchApi });
  const call =
    (client) =>
    async ({ id, verbose, name }) =>
      (await client.rename({ params: { id }, query: { verbose: String(verbose) }, body: { name } })).body;
  return { inMemory: call(near), loopback: call(far), close: () => closed(server) };
}

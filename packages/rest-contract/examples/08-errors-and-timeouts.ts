// What goes wrong comes back as HttpErrorException; time-outs and aborts reach the server as a signal.
import { z } from 'zod';
import { connect, contract, get, HttpErrorException, path, serve, textBody, unit } from 'rest-contract';

const Api = contract('Api', {
  stock: get({ item: path(z.string()) }, z.int()),
  crash: get({}, unit),
  wait: get({}, unit),
});
const handle = serve(
  Api,
  {
    stock: async ({ item }) => {
      throw new HttpErrorException(409, textBody(JSON.stringify({ soldOut: item }), 'application/json'));
    },
    crash: async () => {
      throw new Error('the password is 1234');
    },
    wait: (_args, { signal }) =>
      new Promise<void>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          console.log(`server: ${(signal.reason as Error).name}`);
          reject(signal.reason as Error);
        }),
      ),
  },
  { onError: (error, { operation }) => console.log(`log: ${operation}: ${(error as Error).message}`) },
);
const api = connect(Api, handle);

const report = (error: unknown) =>
  console.log(
    error instanceof HttpErrorException ? `client: ${error.status} ${error.message}` : `client: ${String(error)}`,
  );
await api.stock({ item: 'tea' }).catch(report);
await api.crash().catch(report);
await api.wait({}, { timeoutMs: 20 }).catch(report);
console.log(
  (await handle({ method: 'GET', path: ['nowhere'], query: [], headers: [], cookies: [], body: { kind: 'empty' } }))
    .status,
);

// prints:
// client: 409 {"soldOut":"tea"}
// log: Api.crash: the password is 1234
// client: 500 Internal server error
// server: TimeoutError
// client: TimeoutError: GET /wait took longer than 20 ms
// 404

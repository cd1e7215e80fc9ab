import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RequestHistory } from '../../src/core/model/request.js';
import { startReceiver, type HttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { Installation } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

const installation = new Installation({ database: createDatabase });
let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(async () => {
  await installation.dispose();
  await receiver.close();
}, 90_000);

test('kill -9 between commit and delivery: all is delivered after the restart, at least once, in order per request', async () => {
  const first = await installation.start();
  const { api } = first;
  await api.post('webhooks', { uri: receiver.url, type: 'REQUEST' });
  // The first update of each request is in the hands of the receiver, the others wait behind it.
  receiver.answer = () => undefined;
  for (const id of ['a', 'b']) {
    await api.saveRequest({ id, requestType: 'ON_DEMAND' });
    for (const owner of ['1', '2', '3'])
      await api.saveRequest({ id, requestType: 'ON_DEMAND', owners: [`${owner}@example.com`] });
  }
  await waitFor('the first calls', () => receiver.calls.length === 2);
  await first.kill9();
  const earlier = receiver.calls.length;
  receiver.answer = 200;
  await installation.start();
  const told = (id: string) =>
    receiver.calls
      .slice(earlier)
      .map(({ body }) => body as RequestHistory)
      .filter(({ request }) => request.id === id)
      .map(({ eventType, request }) => `${eventType} ${request.owners?.[0] ?? ''}`);
  const expected = ['CREATED ', 'UPDATED 1@example.com', 'UPDATED 2@example.com', 'UPDATED 3@example.com'];
  for (const id of ['a', 'b']) {
    await waitFor(`all of ${id}`, () => told(id).length >= expected.length, { timeoutMillis: 60_000 });
    expect([...new Set(told(id))]).toEqual(expected);
  }
}, 180_000);

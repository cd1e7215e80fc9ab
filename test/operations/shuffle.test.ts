import { expect, test } from 'vitest';
import { everyOperationWasCalled, operationsOf } from './operations.js';

const operations = operationsOf(['Shuffle'], { settings: { doNotShuffleRequests: ['database'] } });

const list = () => operations.call<string[]>('GET /api/shuffle/blacklist', 200);
const of = (requestId: string) => ({ params: { requestId } });
const has = (requestId: string) => operations.call('GET /api/shuffle/blacklist/{requestId}', 200, of(requestId));
const add = (requestId: string) => operations.call('POST /api/shuffle/blacklist/{requestId}', 204, of(requestId));

test('requests, known or not, are put on the blacklist and taken off, however often', async () => {
  expect(await list()).toEqual(['database']);
  expect(await has('web')).toBe(false);
  for (const id of ['web', 'web', 'api']) expect(await add(id)).toBeUndefined();
  expect(await list()).toEqual(['api', 'database', 'web']);
  expect([await has('web'), await has('other')]).toEqual([true, false]);
  for (const _again of [1, 2]) {
    await operations.call('DELETE /api/shuffle/blacklist/{requestId}', 204, of('web'));
    expect(await has('web')).toBe(false);
  }
  expect(await list()).toEqual(['api', 'database']);
});

test('what the settings put on the blacklist cannot be taken off', async () => {
  expect(await has('database')).toBe(true);
  const refused = await operations.call('DELETE /api/shuffle/blacklist/{requestId}', 409, of('database'));
  expect(refused).toMatchObject({
    code: 'SET_BY_SETTINGS',
    message: `Request 'database' is excluded by the setting doNotShuffleRequests`,
  });
  expect(await has('database')).toBe(true);
});

everyOperationWasCalled(operations);

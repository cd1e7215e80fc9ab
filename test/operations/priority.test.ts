import { expect, test } from 'vitest';
import { everyOperationWasCalled, operationsOf } from './operations.js';

const operations = operationsOf(['Task priorities']);

test('a priority freeze is made, shown and removed; without one there is nothing to show or remove', async () => {
  await operations.call('GET /api/priority/freeze', 404);
  await operations.call('DELETE /api/priority/freeze', 400);
  const refused = await operations.call<{ message: string }>('POST /api/priority/freeze', 400, {
    body: { minimumPriorityLevel: 2, killTasks: false },
  });
  expect(refused.message).toContain('minimumPriorityLevel');
  const body = { minimumPriorityLevel: 0.5, killTasks: false, message: 'a quiet night' };
  await operations.call('POST /api/priority/freeze', 200, { body });
  expect(await operations.call('GET /api/priority/freeze', 200)).toMatchObject({ priorityFreeze: body });
  await operations.call('DELETE /api/priority/freeze', 202);
  await operations.call('GET /api/priority/freeze', 404);
});

everyOperationWasCalled(operations);

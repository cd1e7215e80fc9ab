import { expect, test } from 'vitest';
import { createDatabase } from '../support/test-database.js';
import { SimulatedDay } from './day.js';

test('an hour of 100 requests on 50 machines, with faults and fail-overs, ends with wanted equal to live', async () => {
  const options = { hours: 1, requests: 100, machines: 50, seed: 1 };
  const figures = await SimulatedDay.run(options, await createDatabase());
  expect(figures).toMatchObject({ violations: [] });
  expect(figures.tasksRun).toBeGreaterThan(150);
}, 180_000);

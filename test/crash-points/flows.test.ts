import { afterAll, beforeAll, expect, test } from 'vitest';
import { LentDatabase } from '../support/lent-database.js';
import { flows } from './flows.js';
import { killAtEveryPoint } from './scenario.js';

let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
});
afterAll(() => database.close());

// A story of seconds for each of its points: one that hangs ends by the limits of its own waits.
test.each(flows)('$name ends the same wherever the scheduler is killed', { timeout: 1_800_000 }, async (scenario) => {
  expect(await killAtEveryPoint(scenario, database)).toBeGreaterThan(0);
});

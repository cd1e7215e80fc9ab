import { afterAll, beforeAll, expect, test } from 'vitest';
import { LentDatabase } from '../support/lent-database.js';
import { flows } from './flows.js';
import { killAtEveryPoint } from './scenario.js';

let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
});
afterAll(() => database.close());

test.each(flows)('$name ends the same wherever the scheduler is killed', { timeout: 600_000 }, async (scenario) => {
  expect(await killAtEveryPoint(scenario, database)).toBeGreaterThan(0);
});

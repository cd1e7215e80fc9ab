import { afterAll, beforeAll, test } from 'vitest';
import { LentDatabase } from '../support/lent-database.js';
import { memoryEqualsRows, RealWorld } from './real/real-world.js';
import { holdLaws } from './world/hold-laws.js';

let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
});
afterAll(() => database.close());

test('whatever happens while agents are silent and their tasks are given up, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({
    types: ['SERVICE', 'WORKER'],
    length: 30,
    runs: 30,
    start: (plan) => RealWorld.start(plan, database),
    options: { afterEachStep: memoryEqualsRows },
    silent: true,
  }),
);

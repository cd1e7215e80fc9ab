import { afterAll, beforeAll, test } from 'vitest';
import { requestTypes } from '../../src/core/model/enums.js';
import { LentDatabase } from '../support/lent-database.js';
import { memoryEqualsRows, RealWorld } from './real/real-world.js';
import { holdLaws } from './world/hold-laws.js';

let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
});
afterAll(() => database.close());

test('whatever happens to the real scheduler on a real database, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({
    types: requestTypes,
    length: 30,
    runs: 50,
    start: (plan) => RealWorld.start(plan, database),
    options: { afterEachStep: memoryEqualsRows },
  }),
);

import { afterAll, beforeAll, test } from 'vitest';
import { requestTypes } from '../../src/core/model/enums.js';
import { LeaderMemory } from '../../src/scheduler/memory/leader-memory.service.js';
import { MemoryCheck } from '../../src/scheduler/memory/memory-check.service.js';
import { LentDatabase } from '../support/lent-database.js';
import { RealWorld } from './real/real-world.js';
import { LawBroken } from './rules/law-broken.js';
import { holdLaws } from './world/hold-laws.js';

let database: LentDatabase;
beforeAll(async () => {
  database = await LentDatabase.create();
});
afterAll(() => database.close());

/** After every step the leader's memory equals a fresh load. */
async function memoryEqualsRows({ scheduler }: RealWorld): Promise<void> {
  await scheduler.get(LeaderMemory).refresh(scheduler.now);
  const differences = await scheduler.get(MemoryCheck).compareAll(scheduler.now);
  if (differences.length > 0) {
    throw new LawBroken('The memory of the leader equals a fresh load', JSON.stringify(differences));
  }
}

test('whatever happens to the real scheduler on a real database, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({
    types: requestTypes,
    length: 30,
    runs: 50,
    start: (plan) => RealWorld.start(plan, database),
    options: { afterEachStep: memoryEqualsRows },
  }),
);

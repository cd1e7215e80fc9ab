import { afterAll, beforeAll, describe, test } from 'vitest';
import { LentDatabase } from '../support/lent-database.js';
import { found } from './found.js';
import { PureWorld } from './pure/pure-world.js';
import { RealWorld } from './real/real-world.js';
import { runSchedule } from './world/hold-laws.js';

describe('what broke a law once, with the pure core', () => {
  test.each(found)('$name', ({ schedule }) => runSchedule(schedule, (plan) => PureWorld.start(plan)));
});

describe('what broke a law once, with the whole scheduler', () => {
  let database: LentDatabase;
  beforeAll(async () => {
    database = await LentDatabase.create();
  });
  afterAll(() => database.close());

  test.each(found)('$name', ({ schedule }) => runSchedule(schedule, (plan) => RealWorld.start(plan, database)));
});

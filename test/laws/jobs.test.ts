import { test } from 'vitest';
import { PureWorld } from './pure/pure-world.js';
import { holdLaws } from './world/hold-laws.js';

test('whatever happens to cron jobs, on-demand runs and run-once jobs, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({
    types: ['SCHEDULED', 'ON_DEMAND', 'RUN_ONCE'],
    length: 30,
    runs: 2_000,
    start: (plan) => PureWorld.start(plan),
  }),
);

import { test } from 'vitest';
import { PureWorld } from './pure/pure-world.js';
import { holdLaws } from './world/hold-laws.js';

test('whatever happens to services and workers, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({ types: ['SERVICE', 'WORKER'], length: 30, runs: 4_000, start: (plan) => PureWorld.start(plan) }),
);

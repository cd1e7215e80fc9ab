import { test } from 'vitest';
import { requestTypes } from '../../src/core/model/enums.js';
import { PureWorld } from './pure/pure-world.js';
import { holdLaws } from './world/hold-laws.js';

test('whatever happens to requests of all types side by side, the laws hold', { timeout: 600_000 }, () =>
  holdLaws({ types: requestTypes, length: 40, runs: 6_000, start: (plan) => PureWorld.start(plan) }),
);

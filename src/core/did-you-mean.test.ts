import { expect, test } from 'vitest';
import { didYouMean } from './did-you-mean.js';

const known = ['instances', 'scheduleTimeZone', 'lastTaskStatus', 'cpus', 'memoryMb', 'diskMb', 'numPorts', 'schedule'];

test.each([
  ['instnaces', 'instances'],
  ['Instances', 'instances'],
  ['instance', 'instances'],
  ['timeZone', 'scheduleTimeZone'],
  ['status', 'lastTaskStatus'],
  ['cpu', 'cpus'],
  ['memory', 'memoryMb'],
  ['disk', 'diskMb'],
  ['ports', 'numPorts'],
  ['shcedule', 'schedule'],
  ['colour', undefined],
  ['x', undefined],
  ['x'.repeat(100_000), undefined],
])('%.20s: %s', (word, meant) => expect(didYouMean(word, known)).toBe(meant));

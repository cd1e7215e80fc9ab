import { expect, test } from 'vitest';
import { isPreferred, bias, type ResourceBias, biasOfRequest } from './score.js';
import { utilization } from '../../../test/support/fixtures/usage.js';

const rules = { highCpuCutOff: 1.5, highMemoryCutOff: 0.5, scaleFactor: 1.5 };
const gb = 1_073_741_824;

test.each([
  [3.1, 2, 'HIGH_CPU'],
  [3, 2, 'AVERAGE'],
  [1, 2, 'AVERAGE'],
  [0.9, 2, 'HIGH_MEMORY'],
  [1, 0, 'HIGH_CPU'],
  [0, 1, 'HIGH_MEMORY'],
  [0, 0, 'AVERAGE'],
] as const)('%d cores for %d GB lean to %s', (cpus, memoryGb, is) => expect(bias(cpus, memoryGb, rules)).toBe(is));

test('a request leans by its estimated cpu per GB of average memory', () => {
  const figures = { numTasks: 2, cpuUsed: 2, maxCpuUsed: 9, cpuBurstRating: 0.125 };
  expect(biasOfRequest(utilization({ ...figures, memBytesUsed: 2 * gb }), rules)).toBe('HIGH_CPU');
  expect(biasOfRequest(utilization({ ...figures, memBytesUsed: 4 * gb }), rules)).toBe('AVERAGE');
  expect(biasOfRequest(utilization({ ...figures, memBytesUsed: 10 * gb }), rules)).toBe('HIGH_MEMORY');
  expect(biasOfRequest(undefined, rules)).toBeUndefined();
});

const machine = { attributes: { disk: 'ssd', zone: 'a' }, freeCpus: 4, freeMemoryMb: 4_096 };
test.each<{ rule: string; allowed?: Record<string, string>; leans?: ResourceBias; preferred: boolean }>([
  {
    rule: 'a machine with one of the allowed pairs is preferred',
    allowed: { zone: 'b', disk: 'ssd' },
    preferred: true,
  },
  { rule: 'one with other values is not', allowed: { zone: 'b' }, preferred: false },
  { rule: 'the same leaning is preferred, an average one too', leans: 'AVERAGE', preferred: true },
  { rule: 'another leaning is not', leans: 'HIGH_CPU', preferred: false },
  { rule: 'without figures only attributes count', preferred: false },
])('$rule', ({ allowed = {}, leans, preferred }) =>
  expect(isPreferred({ allowed, bias: leans }, machine, rules)).toBe(preferred),
);

import { expect, test } from 'vitest';
import { outcomeOf, type TestFile, type TestRun } from '../../scripts/test-results.mjs';

const file = (name: string, tests: Record<string, 'passed' | 'failed'>, status?: string): TestFile => {
  const assertionResults = Object.entries(tests).map(([fullName, each]) => ({ fullName, status: each }));
  const hasFailed = assertionResults.some((each) => each.status === 'failed');
  return { name: `/root/test/${name}.ts`, status: status ?? (hasFailed ? 'failed' : 'passed'), assertionResults };
};
const run = (code: number, ...testResults: TestFile[]): TestRun => ({ code, results: { testResults } });
const good = file('good', { one: 'passed', two: 'passed' });
const bad = file('bad', { three: 'passed', four: 'failed', five: 'failed' });

test.each<[string, TestRun, TestRun | undefined, ReturnType<typeof outcomeOf>]>([
  ['all passed', run(0, good), undefined, { passed: 2, failed: [], recovered: [] }],
  [
    'failed tests that are not repeated',
    run(1, good, bad),
    undefined,
    { passed: 3, failed: ['test/bad.ts: four', 'test/bad.ts: five'], recovered: [] },
  ],
  [
    'all pass when repeated',
    run(1, good, bad),
    run(0, file('bad', { three: 'passed', four: 'passed', five: 'passed' })),
    { passed: 5, failed: [], recovered: ['test/bad.ts: four', 'test/bad.ts: five'] },
  ],
  [
    'some pass when repeated',
    run(1, good, bad),
    run(1, file('bad', { three: 'passed', four: 'passed', five: 'failed' })),
    { passed: 4, failed: ['test/bad.ts: five'], recovered: ['test/bad.ts: four'] },
  ],
  [
    'others fail when repeated',
    run(1, good, bad),
    run(1, file('bad', { three: 'failed', four: 'passed', five: 'passed' })),
    { passed: 4, failed: ['test/bad.ts: three'], recovered: ['test/bad.ts: four', 'test/bad.ts: five'] },
  ],
  [
    'a file that does not load',
    run(1, good, file('broken', {}, 'failed')),
    run(1, file('broken', {}, 'failed')),
    { passed: 2, failed: ['test/broken.ts: the file itself'], recovered: [] },
  ],
  [
    'a repeat without a report',
    run(1, good, bad),
    { code: 1, results: undefined },
    { passed: 3, failed: ['test/bad.ts: four', 'test/bad.ts: five'], recovered: [] },
  ],
  [
    'an error outside every test',
    run(1, good),
    undefined,
    { passed: 2, failed: ['vitest: an error outside every test'], recovered: [] },
  ],
  [
    'no report',
    { code: 1, results: undefined },
    undefined,
    { passed: 0, failed: ['vitest: it ended without a report'], recovered: [] },
  ],
])('%s', (_name, first, again, outcome) => expect(outcomeOf(first, again, '/root')).toEqual(outcome));

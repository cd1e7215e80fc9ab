import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSuccess, outcomeOf, programFailure, withPostFailures, type EndFacts } from './outcome.js';
import { cut } from '../../platform/files.js';

const facts = (changes: Partial<EndFacts> = {}): EndFacts => ({
  exitCode: 0,
  started: true,
  waitingForHealthFile: false,
  successfulExitCodes: [],
  programIsShellLine: false,
  ...changes,
});
const kill = { graceMillis: 1_000, tookMillis: 12, forced: false };

test.each([
  { name: 'exit 0', changes: {}, is: ['TASK_FINISHED', 'Exit code 0'] },
  { name: 'exit 127', changes: { exitCode: 127 }, is: ['TASK_FAILED', 'Exit code 127'] },
  {
    name: 'a shell line that was started as a program',
    changes: { exitCode: 127, programIsShellLine: true },
    is: ['TASK_FAILED', 'Exit code 127: not a program; a shell line with arguments needs shell: true'],
  },
  { name: 'exit 1', changes: { exitCode: 1 }, is: ['TASK_FAILED', 'Exit code 1'] },
  { name: 'a signal', changes: { exitCode: 139 }, is: ['TASK_FAILED', 'Exit code 139 (signal 11)'] },
  { name: 'the last signal', changes: { exitCode: 192 }, is: ['TASK_FAILED', 'Exit code 192 (signal 64)'] },
  { name: 'no signal any more', changes: { exitCode: 193 }, is: ['TASK_FAILED', 'Exit code 193'] },
  { name: 'exit 255', changes: { exitCode: 255 }, is: ['TASK_FAILED', 'Exit code 255'] },
  { name: 'a listed code', changes: { exitCode: 9, successfulExitCodes: [9] }, is: ['TASK_FINISHED', 'Exit code 9'] },
  { name: '0 that is not listed', changes: { successfulExitCodes: [9] }, is: ['TASK_FAILED', 'Exit code 0'] },
  {
    name: 'a lost exit status',
    changes: { exitCode: undefined },
    is: ['TASK_FAILED', 'shim killed: exit status unknown'],
  },
  {
    name: 'no start',
    changes: { started: false, exitCode: 125 },
    is: ['TASK_LOST', 'Could not start, see shim.log (shim ended with 125)'],
  },
  {
    name: 'a kill, whatever the exit code',
    changes: { kill, exitCode: 0 },
    is: ['TASK_KILLED', 'Killed gracefully, exit code 0, 12 ms after the kill'],
  },
  {
    name: 'a kill before the program began',
    changes: { kill, started: false, exitCode: 125 },
    is: ['TASK_KILLED', 'Killed before start'],
  },
  {
    name: 'a kill that lost the exit status',
    changes: { kill, exitCode: undefined },
    is: ['TASK_KILLED', 'Killed gracefully, exit code unknown, 12 ms after the kill'],
  },
  {
    name: 'a kill by force',
    changes: { kill: { ...kill, forced: true } },
    is: ['TASK_KILLED', 'Killed by force after waiting at least 1000 ms, took 12 ms'],
  },
  {
    name: 'a kill without grace',
    changes: { kill: { ...kill, graceMillis: 0, forced: true } },
    is: ['TASK_KILLED', 'Destroyed (SIGKILL) after 12 ms'],
  },
  {
    name: 'too many threads',
    changes: { kill, threads: { seen: 9, limit: 3 } },
    is: ['TASK_FAILED', 'Killed for too many threads: 9, limit 3', 'REASON_CONTAINER_LIMITATION'],
  },
  {
    name: 'too much memory',
    changes: { exitCode: 137, memoryExceededMb: 64 },
    is: ['TASK_FAILED', 'Memory limit exceeded: 64 MB', 'REASON_CONTAINER_LIMITATION_MEMORY'],
  },
  {
    name: 'too much memory while it was killed',
    changes: { kill, memoryExceededMb: 64 },
    is: ['TASK_KILLED', 'Killed gracefully, exit code 0, 12 ms after the kill'],
  },
  {
    name: 'no health file in time',
    changes: { kill, healthFileMissingAfterSeconds: 60 },
    is: ['TASK_FAILED', 'Timed out after 60 s waiting for the health file'],
  },
  {
    name: 'a failure before the health file',
    changes: { exitCode: 2, waitingForHealthFile: true },
    is: ['TASK_FAILED', 'Exit code 2 before the health file was there'],
  },
])('$name', ({ changes, is }) => {
  const { state, message, reason } = outcomeOf(facts(changes));
  expect([state, message, reason].slice(0, is.length)).toEqual(is);
});

test.each<[Partial<EndFacts>, number | undefined]>([
  [{ exitCode: 3 }, 3],
  [{ exitCode: 127, programIsShellLine: true }, 127],
  [{ exitCode: 139 }, 139],
  [{ exitCode: 137, memoryExceededMb: 64 }, undefined],
  [{ exitCode: 143, kill }, undefined],
  [{ exitCode: 125, started: false }, undefined],
])('%j: the exit code of a program that failed by itself is told: %s', (changes, exitCode) =>
  expect(outcomeOf(facts(changes)).exitCode).toBe(exitCode),
);

test('a given list of successful codes is complete, an empty one means 0', () =>
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 255 }), fc.array(fc.integer({ min: 0, max: 255 })), (code, list) => {
      expect(isSuccess(code, list)).toBe(list.length === 0 ? code === 0 : list.includes(code));
    }),
  ));

test('a cut message is never longer than it may be, and holds whole characters', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 100 }), (text, length) => {
      const short = cut(text, length);
      expect(text.startsWith(short)).toBe(true);
      expect(short.length).toBeLessThanOrEqual(Math.max(length, 0));
      expect(short).not.toMatch(/[\ud800-\udbff]$/);
    }),
  ));

test.each([
  { name: 'exit 0', end: {}, is: undefined },
  { name: 'exit 3', end: { exitCode: 3 }, is: 'ended with exit code 3' },
  { name: 'a signal', end: { exitCode: 137 }, is: 'ended with exit code 137 (signal 9)' },
  { name: 'a run that took too long', end: { exitCode: 137, isLate: true }, is: 'took longer than 50 ms' },
  { name: 'a kill, whatever the exit code', end: { isKilled: true }, is: 'was killed' },
  {
    name: 'no start',
    end: { hasBegun: false, exitCode: 125 },
    is: 'could not start, see shim.log (shim ended with 125)',
  },
  {
    name: 'a lost exit status',
    end: { exitCode: undefined },
    is: 'ended with an unknown exit code: its shim was killed',
  },
])('a step with $name: $is', ({ end, is }) => {
  const plain = { hasBegun: true, exitCode: 0, isLate: false, isKilled: false };
  expect(programFailure({ ...plain, ...end }, 50)).toBe(is);
});

test('failures of post steps are told with the end, which they do not change', () => {
  const end = { state: 'TASK_FINISHED', message: 'Exit code 0' } as const;
  expect(withPostFailures(end, [])).toEqual(end);
  expect(withPostFailures(end, ['a ended with exit code 1'])).toEqual({
    ...end,
    message: 'Exit code 0; post step a ended with exit code 1',
  });
  expect(withPostFailures(end, ['a ended with exit code 1', 'b was killed', 'c was killed']).message).toBe(
    'Exit code 0; post step a ended with exit code 1, and 2 more',
  );
});

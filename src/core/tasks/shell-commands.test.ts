import fc from 'fast-check';
import { shellCommandUpdateTypes } from '../model/enums.js';
import type { ShellCommand } from '../model/request.js';
import {
  type BeforeKillCommand,
  type ConfiguredCommand,
  holdsKill,
  isFinal,
  refuseCommand,
  safeName,
} from './shell-commands.js';
import { describe, expect, test } from 'vitest';

const configured: ConfiguredCommand[] = [
  { name: 'jstack', options: [] },
  { name: 'heap/dump', options: [{ name: 'live' }, { name: 'all' }] },
];

describe('a command must be configured, with each of its options', () => {
  test.each<{ name: string; command: ShellCommand; refused: string | undefined }>([
    { name: 'one without options', command: { name: 'jstack' }, refused: undefined },
    {
      name: 'one with all of its options',
      command: { name: 'heap/dump', options: ['all', 'live'] },
      refused: undefined,
    },
    { name: 'a name that is not configured', command: { name: 'rm' }, refused: 'UNKNOWN name known' },
    { name: 'a name in other letters', command: { name: 'JStack' }, refused: 'UNKNOWN name known' },
    {
      name: 'an option of another command',
      command: { name: 'jstack', options: ['live'] },
      refused: 'INVALID options.0 known',
    },
    {
      name: 'an option given twice',
      command: { name: 'heap/dump', options: ['live', 'live'] },
      refused: 'INVALID options.1 unique',
    },
    {
      name: 'a log file in another folder',
      command: { name: 'jstack', logfileName: '../x' },
      refused: 'INVALID logfileName pattern',
    },
    {
      name: 'a log file without a name',
      command: { name: 'jstack', logfileName: '' },
      refused: 'INVALID logfileName length',
    },
    {
      name: 'a log file with a long name',
      command: { name: 'jstack', logfileName: 'x'.repeat(101) },
      refused: 'INVALID logfileName length',
    },
  ])('$name: $refused', ({ command, refused }) => {
    const refusal = refuseCommand(command, configured);
    const [error] = refusal?.kind === 'INVALID' ? refusal.errors : refusal ? [refusal.error] : [];
    expect(refusal && `${refusal.kind} ${error?.field} ${error?.rule}`).toBe(refused);
  });
  test('fields are named by where they stand', () => {
    expect(refuseCommand({ name: 'rm' }, configured, 'runShellCommandBeforeKill')).toMatchObject({
      error: { field: 'runShellCommandBeforeKill.name', message: expect.stringContaining("'rm'") as string },
    });
  });
  test('where nothing is configured, nothing may run', () =>
    fc.assert(fc.property(fc.string(), (name) => refuseCommand({ name }, [])?.kind === 'UNKNOWN')));
});

describe('a kill waits for the command that is to run before it', () => {
  const command = (...updates: BeforeKillCommand['updates']): BeforeKillCommand => ({ updates, queuedAt: 1_000 });
  test.each<{ name: string; given: BeforeKillCommand | undefined; now?: number; holds: boolean }>([
    { name: 'while it is queued', given: command(), holds: true },
    { name: 'after ACKED', given: command('ACKED'), holds: true },
    { name: 'after STARTED', given: command('ACKED', 'STARTED'), holds: true },
    { name: 'not after INVALID', given: command('INVALID'), holds: false },
    { name: 'not after FINISHED', given: command('ACKED', 'STARTED', 'FINISHED'), holds: false },
    { name: 'not after FAILED', given: command('ACKED', 'FAILED'), holds: false },
    { name: 'to the end of its limit', given: command('STARTED'), now: 1_000 + 299_999, holds: true },
    { name: 'and no longer', given: command('STARTED'), now: 1_000 + 300_000, holds: false },
    { name: 'nor after the clock was set back', given: command('STARTED'), now: -600_000, holds: false },
    { name: 'not for one that is not there', given: undefined, holds: false },
  ])('$name: $holds', ({ given, now = 2_000, holds }) => expect(holdsKill(given, 300_000, now)).toBe(holds));
});

test('three of the updates end a command', () =>
  expect(shellCommandUpdateTypes.filter(isFinal)).toEqual(['INVALID', 'FINISHED', 'FAILED']));

test('a name without its slashes can stand in a path', () => expect(safeName('heap/dump/')).toBe('heapdump'));

import { describe, expect, test } from 'vitest';
import { ShellCommandSetting } from '../../platform/settings/local-settings.js';
import { readLocalClusterSettings } from '../settings.js';
import { commandWords, findCommand, outputFileName } from './command-words.js';

const dump = ShellCommandSetting.parse({
  name: 'dump',
  command: ['jmap', '{PID}', '--user={USER}', '{USER}'],
  options: [
    { name: 'live', flag: '-l' },
    { name: 'all', flag: '-a' },
  ],
});
const process = { pid: 42, user: 'web' };
const words = (options: string[] = [], own: object = {}, command = dump) =>
  commandWords(command, options, process, readLocalClusterSettings(own));

describe('the words of a command', () => {
  test('that are placeholders become the process id and the user; inside of a longer word they are text', () =>
    expect(words()).toEqual(['jmap', '42', '--user={USER}', 'web']));
  test('get the flags of the options that were chosen, in the order of the settings', () =>
    expect(words(['all', 'live']).slice(4)).toEqual(['-l', '-a']));
  test('come after the prefix, which has placeholders too', () =>
    expect(words([], { shellCommandPrefix: ['sudo', '-u', '{USER}'] }).slice(0, 4)).toEqual([
      'sudo',
      '-u',
      'web',
      'jmap',
    ]));
  test('come without the prefix where the command says so', () =>
    expect(words([], { shellCommandPrefix: ['sudo'] }, { ...dump, skipCommandPrefix: true })[0]).toBe('jmap'));
  test('have the placeholders that are configured', () =>
    expect(words([], { shellCommandPidPlaceholder: '{USER}', shellCommandUserPlaceholder: 'jmap' })).toEqual([
      'web',
      '{PID}',
      '--user={USER}',
      '42',
    ]));
});

describe('a command', () => {
  test.each([
    { order: { name: 'dump', options: ['all'] }, found: dump },
    { order: { name: 'rm', options: [] }, found: { invalid: expect.stringContaining('dump') as string } },
    { order: { name: 'dump', options: ['x'] }, found: { invalid: expect.stringContaining("'x'") as string } },
  ])('$order.name with $order.options', ({ order, found }) => expect(findCommand(order, [dump])).toEqual(found));
  test('is not there where none is configured', () =>
    expect(findCommand({ name: 'dump', options: [] }, [])).toEqual({
      invalid: expect.stringContaining(': none') as string,
    }));
});

describe('the file of its output', () => {
  test.each([
    { order: { name: 'Heap Dump/Live' }, file: 'executor.commands.heap-dump-live.7.log' },
    { order: { name: 'x', logfileName: 'My Log' }, file: 'executor.commands.My Log.7.log' },
    { order: { name: 'x', logfileName: '../up' }, file: 'executor.commands...-up.7.log' },
    { order: { name: 'ü'.repeat(150) }, file: `executor.commands.${'ü'.repeat(50)}.7.log` },
  ])('$order is $file', ({ order, file }) =>
    expect(outputFileName({ taskId: 't', timestamp: 7, ...order })).toBe(file),
  );
  test('has a name that a file system takes', () =>
    expect(
      Buffer.byteLength(outputFileName({ taskId: 't', timestamp: Date.now(), name: '😀'.repeat(100) })),
    ).toBeLessThan(256));
});

import { afterEach, expect, test, vi } from 'vitest';
import { beyondTasks, exitCodes } from './exit-codes.js';
import { runCommand } from './program.js';

afterEach(() => vi.restoreAllMocks());

test.each([
  // Its own codes are for the task.
  ['an argument of a run', ['run', 'web', '--', 'caf\u{fffd}'], beyondTasks + exitCodes.usage],
  ['a message', ['pause', 'web', '-m', '\u{fffd}'], exitCodes.usage],
  ['an id', ['ps', 'caf\u{fffd}'], exitCodes.usage],
])('%s whose bytes were no text is refused before anything is sent', async (_what, words, exitCode) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const sent = vi.spyOn(globalThis, 'fetch');
  expect(await runCommand(words, {})).toBe(exitCode);
  expect(written.mock.calls.join()).toContain('must be text in UTF-8');
  expect(sent).not.toHaveBeenCalled();
});

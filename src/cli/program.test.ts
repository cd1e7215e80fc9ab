import { afterEach, expect, test, vi } from 'vitest';
import { exitCodes } from './exit-codes.js';
import { runCommand } from './program.js';

afterEach(() => vi.restoreAllMocks());

test.each([
  ['an argument of a run', ['run', 'web', '--', 'caf\u{fffd}']],
  ['a message', ['pause', 'web', '-m', '\u{fffd}']],
  ['an id', ['ps', 'caf\u{fffd}']],
])('%s whose bytes were no text is refused before anything is sent', async (_what, words) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const sent = vi.spyOn(globalThis, 'fetch');
  expect(await runCommand(words, {})).toBe(exitCodes.usage);
  expect(written.mock.calls.join()).toContain('must be text in UTF-8');
  expect(sent).not.toHaveBeenCalled();
});

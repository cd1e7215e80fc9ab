import { MusterError } from 'muster-client';
import { afterEach, expect, test, vi } from 'vitest';
import { exitCodes } from './exit-codes.js';
import { tellFailure } from './tell-failure.js';

afterEach(() => vi.restoreAllMocks());

test.each([
  ['a shell command that the settings do not name', 403, 'UNKNOWN_SHELL_COMMAND', exitCodes.refused],
  ['an option of one that they do not name', 400, 'INVALID_REQUEST', exitCodes.refused],
  ['a token that may not', 403, 'FORBIDDEN', exitCodes.denied],
])('%s', async (_what, status, code, exitCode) => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const refusal = new MusterError(status, { code, message: 'not this one' }, 'POST');
  expect(await tellFailure(refusal, ['shell', 'web', 'nothing'])).toBe(exitCode);
  expect(written.mock.calls).toEqual([['muster: not this one\n']]);
});

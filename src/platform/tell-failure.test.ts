import { Logger } from '@nestjs/common';
import { expect, test } from 'vitest';
import { NotLeaderError } from './leadership/leadership.js';
import { tellFailure } from './tell-failure.js';

test.each([
  { of: 'another instance that leads', cause: new NotLeaderError('epoch 3 is over'), level: 'warn' },
  {
    of: 'a connection that is gone',
    cause: new Error('Query runner already released. Cannot run queries anymore.'),
    level: 'warn',
  },
  { of: 'anything else', cause: new TypeError('x is not a function'), level: 'error' },
])('of $of: $level', ({ cause, level }) => {
  const log = new Logger('test');
  const told: unknown[][] = [];
  log.warn = (...line: unknown[]) => void told.push(['warn', ...line]);
  log.error = (...line: unknown[]) => void told.push(['error', ...line]);
  tellFailure(log, 'The pass ended', cause);
  const line = `The pass ended: ${String(cause)}`;
  // The stack follows from the cause that is handed on.
  expect(told).toEqual([level === 'warn' ? ['warn', line] : ['error', line, cause]]);
});

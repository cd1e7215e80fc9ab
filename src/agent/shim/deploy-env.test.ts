import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { deployEnv } from './start-task.js';

const folder = tempFolder();
afterAll(() => folder.remove());

/** What a shell makes of the file. */
function sourced(shell: string, environment: Record<string, string>): Record<string, string> {
  const file = join(folder.path, 'deploy.env');
  writeFileSync(file, deployEnv(environment));
  const output = execFileSync(shell, ['-c', '. "$1"; env -0', shell, file], {
    encoding: 'utf8',
    env: { WORLD: 'earth' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const entries = output
    .split('\0')
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return Object.fromEntries(entries.filter(([name]) => name! in environment)) as Record<string, string>;
}

test.each(['/bin/sh', '/bin/bash'])('%s: a value may refer to what is set already, and to values above it', (shell) => {
  const environment = { A: 'hello $WORLD', B: '${A}!', C: '$NOBODY.' };
  expect(sourced(shell, environment)).toEqual({ A: 'hello earth', B: 'hello earth!', C: '.' });
});

test.each(['/bin/sh', '/bin/bash'])('%s: everything but references is taken as it is', (shell) =>
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...'ab \\"\'`!#&|;<>(){}[]*?~\n\t$(', '$(', '$(id)', '`id`', '\\"', '\\\\'), {
        maxLength: 12,
      }),
      (parts) => {
        // A dollar sign may only begin a command substitution here; anything else would be a reference.
        const value = parts.join('').replace(/\$(?!\()/g, '');
        expect(sourced(shell, { VALUE: value })).toEqual({ VALUE: value });
      },
    ),
    { numRuns: 60 },
  ),
);

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { deployEnv } from './start-task.js';

const directory = tempFolder();
afterAll(() => directory.remove());

/** Environment that a shell reads from the file. */
function sourced(shell: string, environment: Record<string, string>): Record<string, string> {
  const file = join(directory.path, 'deploy.env');
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

const shells = ['/bin/sh', '/bin/bash'];

test.each(shells)('%s: a value may refer to what is set already, and to values above it', (shell) => {
  const environment = { A: 'hello $WORLD', B: '${A}!', C: '$NOBODY.', D: '${NOBODY}.', E: '$D$C', LATER: '$Z', Z: 'z' };
  expect(sourced(shell, environment)).toEqual({
    A: 'hello earth',
    B: 'hello earth!',
    C: '$NOBODY.',
    D: '${NOBODY}.',
    E: '${NOBODY}.$NOBODY.',
    LATER: '$Z',
    Z: 'z',
  });
});

test.each(shells)('%s: two dollar signs stand for one, and what follows them is no name', (shell) => {
  const environment = { A: 'a$$b', B: '$$WORLD', C: '$$$WORLD', D: '$$$$' };
  expect(sourced(shell, environment)).toEqual({ A: 'a$b', B: '$WORLD', C: '$earth', D: '$$' });
});

test.each(shells)('%s: what a shell itself keeps is no variable of a task', (shell) => {
  const own = [
    '$_',
    '$IFS',
    '$PWD',
    '$OLDPWD',
    '$PPID',
    '$OPTIND',
    '$RANDOM',
    '$UID',
    '$BASH_VERSION',
    '$PS4',
    '$PIPESTATUS',
  ];
  const environment = Object.fromEntries([...own, '$muster_task'].map((value, index) => [`V${index}`, value]));
  expect(sourced(shell, environment)).toEqual(environment);
});

test.each(shells)('%s: everything but references is taken as it is', (shell) =>
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          ...'ab1 \\"\'`!#&|;<>(){}[]*?~\n\t$@-=:%',
          '$(',
          '$(id)',
          '`id`',
          '\\"',
          '\\\\',
          '${',
          '$[1+1]',
        ),
        { maxLength: 12 },
      ),
      (parts) => {
        // Two of them in a row stand for one.
        const value = parts.join('').replaceAll(/\$+/g, '$');
        expect(sourced(shell, { VALUE: value })).toEqual({ VALUE: value });
      },
    ),
    { numRuns: 60 },
  ),
);

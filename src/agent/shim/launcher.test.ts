import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { UserSwitch } from '../processes/run-as.js';
import { beyondShells, launcherScript } from './launcher.js';

const directory = tempFolder();
afterAll(() => directory.remove());

const text = fc.oneof(
  fc.constantFrom('', '-', '--', '-a', '-c', '=', 'A=b', 'a b', "'", '$(id)', '\n', '*'),
  fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', '')),
);
const path = join(directory.path, 'launcher');

/** As a shim runs it: the script is file 3. */
function launch(shell: string, words: readonly string[], environment: Record<string, string> = {}) {
  writeFileSync(path, launcherScript(environment, 'FILES'));
  const [out, script] = [join(directory.path, 'out'), openSync(path, 'r')];
  writeFileSync(out, '');
  const { status } = spawnSync(shell, ['/proc/self/fd/3', directory.path, out, out, ...words], {
    stdio: ['ignore', 'ignore', 'ignore', script],
  });
  closeSync(script);
  return { status, output: execFileSync('cat', ['--', out], { encoding: 'utf8' }) };
}

test.each(['/bin/sh', '/bin/bash'])('%s: a program sees its words and variables as they are', (shell) =>
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), text, (words, value) => {
      const { output } = launch(shell, ['/bin/sh', '-c', `printf '%s\\0' "$V" "$@"`, 'sh', ...words], { V: value });
      expect(output.split('\0').slice(0, -1)).toEqual([value, ...words]);
    }),
    { numRuns: 15 },
  ),
);

test.each(['/bin/sh', '/bin/bash'])('%s: a program whose name begins with a dash is none, not an option', (shell) => {
  const { status, output } = launch(shell, ['-a', 'name', 'echo', 'ran']);
  expect(status).toBe(127);
  expect(output).toBe('-a: not found\n');
});

test('variables that no shell can say are handed down, but for what a shell would run', () => {
  const environment = { PLAIN: '1', 'spring.profiles-active': '2', 'BASH_FUNC_ls%%': '() { id; }' };
  expect(beyondShells(environment)).toEqual({ 'spring.profiles-active': '2' });
  expect(launch('/bin/sh', ['/usr/bin/env'], environment).output).toMatch(/^PLAIN=1$/m);
});

test.skipIf(process.getuid?.() !== 0)('what changes the user gives a program its words as they are', async () => {
  const words = (await UserSwitch.find(1_900_000_000)).words({ uid: 1_900_000_000, gid: 1_900_000_000, own: true });
  fc.assert(
    fc.property(fc.array(text, { maxLength: 4 }), (given) => {
      const [first = '', ...others] = [...words, '/bin/sh', '-c', `printf '%s\\0' "$@" .`, 'sh', ...given];
      const output = execFileSync(first, others, { encoding: 'utf8', cwd: '/' });
      expect(output.split('\0').slice(0, -2)).toEqual(given);
    }),
    { numRuns: 8 },
  );
});

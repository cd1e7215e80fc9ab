import { execFile } from 'node:child_process';
import { cpSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';

/** The one file that the build makes of all commands, and what V8 has made of it. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'dist', 'cli', 'commands.cjs');
const node = async (...args: string[]) => (await promisify(execFile)(process.execPath, args)).stdout;

test('it holds nothing of a server', () => {
  const { sources } = JSON.parse(readFileSync(`${built}.map`, 'utf8')) as { sources: string[] };
  expect(sources.some((path) => path.endsWith('src/cli/program.ts'))).toBe(true);
  expect(
    sources.filter(
      (path) =>
        !/(^|\/)(src\/(main|cli\/(?!server\/).*|core\/(content-id|did-you-mean|other-names|terminal-text)|platform\/addresses)\.ts|packages\/.*|node_modules\/(commander|@bomb\.sh\/tab)\/.*)$/.test(
          path,
        ),
    ),
  ).toEqual([]);
});

test('what V8 made of it at the build is taken at the start', async () => {
  const program = `
    const { readFileSync } = require('node:fs');
    const { Script } = require('node:vm');
    const [file] = process.argv.slice(1);
    const script = new Script(readFileSync(file, 'utf8'), {
      filename: file,
      cachedData: readFileSync(file.replace('.cjs', '.v8')),
    });
    console.log(script.cachedDataRejected);
  `;
  expect(await node('-e', program, built)).toBe('false\n');
});

test('what was changed since is run as it is now, and what V8 cannot take is left', async () => {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const [bin, copy] = [join(path, 'bin', 'muster.mjs'), join(path, 'dist', 'cli', 'commands.cjs')];
  for (const part of ['bin', 'package.json']) cpSync(join(root, part), join(path, part), { recursive: true });
  await expect(node(bin, '--help')).rejects.toMatchObject({
    code: 1,
    stderr: 'muster: it is not built yet; npm run build does that\n',
  });
  cpSync(join(root, 'dist', 'cli'), join(path, 'dist', 'cli'), { recursive: true, preserveTimestamps: true });
  expect(await node(bin, '--help')).toContain('Starts Muster, a task scheduler');
  // As long as it was before, which is all that V8 compares.
  writeFileSync(copy, readFileSync(copy, 'utf8').replaceAll('Starts Muster,', 'Startz Muster,'));
  expect(await node(bin, '--help')).toContain('Startz Muster, a task scheduler');
  const compiled = copy.replace('.cjs', '.v8');
  writeFileSync(compiled, readFileSync(compiled).subarray(0, 1_000));
  utimesSync(compiled, Date.now() / 1_000 + 60, Date.now() / 1_000 + 60);
  expect(await node(bin, '--help')).toContain('Startz Muster, a task scheduler');
});

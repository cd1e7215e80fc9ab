import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../support/free-port.js';
import { tempFolder } from '../support/temp-folder.js';
import { waitFor } from '../support/wait-for.js';
import { killNow, pidsMentioning } from '../e2e/support/processes.js';

/** The package that `npm pack` makes of the built tree, on an account that has nothing of it but Node.js. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const nobody = 65_534;

function pack(folder: string): string[] {
  const words = ['pack', '--json', `--pack-destination=${folder}`, '--loglevel=error'];
  const [packed] = JSON.parse(execFileSync('npm', words, { cwd: root, encoding: 'utf8' })) as [
    { files: { path: string }[] },
  ];
  return packed.files.map(({ path }) => path);
}

test('npm pack makes a package that starts on an account with nothing but Node.js', async () => {
  const { path: home, remove } = tempFolder();
  onTestFinished(remove);
  const files = pack(home);
  for (const wanted of ['bin/muster.mjs', 'dist/cli/commands.v8', 'dist/src/cli/server/run-scheduler.js', 'LICENSE'])
    expect(files).toContain(wanted);
  for (const name of ['muster-client', 'rest-contract']) expect(files).toContain(`node_modules/${name}/dist/index.js`);
  expect(files).toContain('node_modules/muster-guide/dist/index.html');
  // Once, where the guide shows them.
  expect(files.filter((path) => path.endsWith('.webp'))).toHaveLength(readdirSync(join(root, 'docs/images')).length);
  expect(files).toContain('node_modules/muster-guide/dist/images/requests.webp');
  const isStrange = (path: string): boolean =>
    /\.map$|\.test\.ts$/.test(path) ||
    (/(^|\/)(src|test|scripts)\//.test(path) && !/^dist\/(packages\/migrate\/)?src\//.test(path));
  expect(files.filter(isStrange)).toEqual([]);

  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  if (user.uid !== undefined) chownSync(home, nobody, nobody);
  chmodSync(join(home, `muster-${version}.tgz`), 0o644);
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    // Install scripts are switched off on many machines.
    npm_config_ignore_scripts: 'true',
    MUSTER_DATA_DIR: join(home, 'data'),
    MUSTER_PORT: String(await freePort()),
  };
  mkdirSync(env.MUSTER_DATA_DIR);
  if (user.uid !== undefined) chownSync(env.MUSTER_DATA_DIR, nobody, nobody);
  const npx = ['--yes', `./muster-${version}.tgz`];
  const options = { cwd: home, env, ...user };
  const started = spawn('npx', [...npx, 'start'], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (output += String(text)));
  onTestFinished(async () => {
    await waitFor('its processes to end', () => {
      const left = pidsMentioning(home);
      killNow(left);
      return left.length === 0;
    });
  });
  await waitFor('it to be ready', () => output.includes('Muster is ready') || started.exitCode !== null, {
    timeoutMillis: 240_000,
  });
  expect(output).toContain('Muster is ready');
  const [installed] = readdirSync(join(home, '.npm/_npx')).map((name) =>
    join(home, '.npm/_npx', name, 'node_modules/muster'),
  );
  const muster = (...words: string[]) =>
    execFileSync('node', ['bin/muster.mjs', ...words], { ...options, cwd: installed, encoding: 'utf8' });
  expect(muster('--version')).toBe(`${version}\n`);
  const example = ['request', 'deploy-v1'].map((name) => `examples/greet/${name}.json`);
  expect(muster('apply', '-f', ...example, '--wait')).toContain('SUCCEEDED');
  expect(muster('run', 'greet', 'Ada')).toBe('Hello, Ada!\n');
  expect(muster('stop')).toContain('Stopped');
}, 400_000);

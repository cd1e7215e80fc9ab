import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';
import { SetupError, say } from './say.mjs';

const sources = ['src', 'migrations', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

function* filesBelow(path) {
  if (!existsSync(path)) return;
  const entries = readdirSync(path, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const inner = join(path, entry.name);
    if (entry.isDirectory()) yield* filesBelow(inner);
    else if (!entry.name.endsWith('.test.ts')) yield inner;
  }
}

function hashOfSources(root) {
  const hash = createHash('sha256');
  for (const name of sources) {
    const path = join(root, name);
    const files = /\.\w+$/.test(name) ? [path] : filesBelow(path);
    for (const file of files) hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

const stampOf = (root) => join(root, 'dist', '.built-from');

/** Builds into dist.new and puts that in the place of dist, so that dist is always whole. Does nothing when it is current. */
export async function compile(root) {
  const hash = hashOfSources(root);
  if (existsSync(stampOf(root)) && readFileSync(stampOf(root), 'utf8') === hash) return;
  say('Building ...');
  const fresh = join(root, 'dist.new');
  rmSync(fresh, { recursive: true, force: true });
  const code = await run(process.execPath, [join(root, 'node_modules/@nestjs/cli/bin/nest.js'), 'build'], {
    cwd: root,
  });
  if (code !== 0) throw new SetupError('the build failed; the lines above say why');
  writeFileSync(join(fresh, '.built-from'), hash);
  const former = join(root, 'dist.old');
  rmSync(former, { recursive: true, force: true });
  if (existsSync(join(root, 'dist'))) renameSync(join(root, 'dist'), former);
  renameSync(fresh, join(root, 'dist'));
  rmSync(former, { recursive: true, force: true });
}

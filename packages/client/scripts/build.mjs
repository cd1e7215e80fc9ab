// Compiles src to dist with the compiler of the repository, makes one file of it that a command line loads in a moment, and writes
// the contract's OpenAPI document beside it. The old dist stays until the new one is whole.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { openapi } from 'rest-contract/openapi';
import { documentOf } from './document.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const fresh = mkdtempSync(join(root, 'dist.new-'));
const old = fresh.replace('.new-', '.old-');
try {
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh], {
    stdio: 'inherit',
  });
  const { MusterApi } = await import(pathToFileURL(join(fresh, 'index.js')));
  writeFileSync(join(fresh, 'openapi.json'), `${JSON.stringify(documentOf(openapi, MusterApi), null, 2)}\n`);
  await bundle(fresh);
  const dist = join(root, 'dist');
  // Aside rather than removed: a program that starts meanwhile misses it for a moment at most.
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
} finally {
  rmSync(old, { recursive: true, force: true });
  rmSync(fresh, { recursive: true, force: true });
}

/** Eighty modules, those of rest-contract included, take four times as long to load as one that holds them all. */
async function bundle(folder) {
  const entry = join(folder, 'index.js');
  const outfile = join(folder, 'bundle.mjs');
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'neutral', target: 'es2022' });
  for (const name of readdirSync(folder, { recursive: true })) if (name.endsWith('.js')) rmSync(join(folder, name));
  renameSync(outfile, entry);
}

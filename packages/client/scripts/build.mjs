// node scripts/build.mjs <OpenAPI document>: makes src/generated of the document, compiles src to dist with the compiler of the
// repository, makes one file of it that a command line loads in a moment, and puts the document beside it. The old dist stays until
// the new one is whole. The build of the repository runs it, once it has the document.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { intoPlace } from '../../../scripts/into-place.mjs';
import { generate } from './generate.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const [document] = process.argv.slice(2);
await intoPlace(join(root, 'dist'), async (fresh) => {
  await generate(JSON.parse(readFileSync(document, 'utf8')), join(root, 'src', 'generated'));
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh], {
    stdio: 'inherit',
  });
  copyFileSync(document, join(fresh, 'openapi.json'));
  await bundle(fresh);
});

/** Eighty modules, those of rest-contract included, take four times as long to load as one that holds them all. */
async function bundle(folder) {
  const entry = join(folder, 'index.js');
  const outfile = join(folder, 'bundle.mjs');
  await build({ entryPoints: [entry], outfile, bundle: true, format: 'esm', platform: 'neutral', target: 'es2022' });
  for (const name of readdirSync(folder, { recursive: true })) if (name.endsWith('.js')) rmSync(join(folder, name));
  renameSync(outfile, entry);
}

// node scripts/build.mjs: makes dist of src: scripts and styles under names that change with their content, each also in gzip and
// brotli, so that no server packs them anew, and the manifest by which the service finds them. Fails when a browser would have to
// load more than the budget. The build of the repository runs it, once it has the client.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { intoPlace } from '../../../scripts/into-place.mjs';

/** Bytes of scripts in gzip before the first page is seen, and of each further script that a page asks for. */
const budget = { firstLoad: 230_000, furtherScript: 60_000 };

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
await intoPlace(join(root, 'dist'), async (fresh) => {
  await build({ root, logLevel: 'warn', build: { outDir: fresh, emptyOutDir: true } });
  const sizes = pack(fresh);
  hold(JSON.parse(readFileSync(join(fresh, '.vite', 'manifest.json'), 'utf8')), sizes);
});

function pack(folder) {
  const sizes = new Map();
  for (const name of readdirSync(folder).filter((each) => /\.(js|css)$/.test(each))) {
    const body = readFileSync(join(folder, name));
    const zipped = gzipSync(body, { level: 9 });
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: body.length };
    writeFileSync(join(folder, `${name}.gz`), zipped);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(body, { params }));
    sizes.set(name, zipped.length);
  }
  return sizes;
}

function hold(manifest, sizes) {
  const chunks = Object.values(manifest).filter(({ file }) => file.endsWith('.js'));
  const entry = chunks.find(({ isEntry }) => isEntry);
  const first = new Set();
  const add = (chunk) => {
    if (first.has(chunk.file)) return;
    first.add(chunk.file);
    for (const name of chunk.imports ?? []) add(manifest[name]);
  };
  add(entry);
  const firstLoad = [...first].reduce((sum, file) => sum + sizes.get(file), 0);
  const further = chunks.filter(({ file }) => !first.has(file) && sizes.get(file) > budget.furtherScript);
  console.log(
    `First load: ${Math.round(firstLoad / 1000)} kB of scripts in gzip; budget ${budget.firstLoad / 1000} kB`,
  );
  if (firstLoad > budget.firstLoad)
    throw new Error(`The first load is ${firstLoad} bytes, more than ${budget.firstLoad}`);
  if (further.length > 0)
    throw new Error(`${further.map(({ file }) => file).join(', ')} is beyond the budget of a page`);
}

// node scripts/build.mjs: makes dist of the Markdown of the repository: pages and their pictures, the index of the search, and the script
// and styles of the pages, under names that change with their content. Fails when a page links to what is not there. With --check nothing is written.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { intoPlace } from '../../../scripts/into-place.mjs';
import { layOut } from './layout.mjs';
import { deadLinks, indexOf, readSite } from './site.mjs';

const folder = fileURLToPath(new URL('..', import.meta.url));
const root = join(folder, '..', '..');
const site = readSite(root);
const dead = deadLinks(site);
if (dead.length > 0) throw new Error(`Links that lead nowhere:\n  ${dead.join('\n  ')}`);
if (!process.argv.includes('--check')) await intoPlace(join(folder, 'dist'), write);

async function write(fresh) {
  const put = (name, text) => {
    const file = join(fresh, name);
    const packed = gzipSync(text, { level: 9 });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    writeFileSync(`${file}.gz`, packed);
    return packed.length;
  };
  const asset = (name, text) => {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 10);
    const hashed = `assets/${name.replace('.', `.${hash}.`)}`;
    return { hashed, bytes: put(hashed, text) };
  };
  const script = asset('page.js', await bundle('page.mjs'));
  const style = asset('page.css', await bundle('page.css'));
  const index = asset('search.json', JSON.stringify(indexOf(site)));
  const assets = { script: script.hashed, style: style.hashed, index: index.hashed };
  for (const page of site.pages) put(page.address, layOut(page, { groups: site.groups, assets }));
  for (const { path, address } of site.pictures) cpSync(join(root, path), join(fresh, address));
  console.log(`${site.pages.length} pages; the index has ${Math.round(index.bytes / 1000)} kB in gzip`);
}

async function bundle(name) {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'src', name)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
  });
  return outputFiles[0].text;
}

// node scripts/build.mjs: makes dist of the Markdown of the repository: pages, the index of the search, and the script and styles of
// the pages, under names that change with their content. Fails when a page links to what is not there. With --check nothing is written.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { layOut } from './layout.mjs';
import { deadLinks, indexOf, readSite } from './site.mjs';

const folder = fileURLToPath(new URL('..', import.meta.url));
const site = readSite(join(folder, '..', '..'));
const dead = deadLinks(site);
if (dead.length > 0) throw new Error(`Links that lead nowhere:\n  ${dead.join('\n  ')}`);
if (!process.argv.includes('--check')) await write();

async function write() {
  // By the umask: a folder of mkdtemp would be closed to all users but the one who builds.
  const [fresh, old] = ['new', 'old'].map((name) => join(folder, `dist.${name}-${process.pid}`));
  for (const each of [fresh, old]) rmSync(each, { recursive: true, force: true });
  try {
    const put = (name, text) => {
      const file = join(fresh, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
    };
    const asset = (name, text) => {
      const hash = createHash('sha256').update(text).digest('hex').slice(0, 10);
      const hashed = `assets/${name.replace('.', `.${hash}.`)}`;
      put(hashed, text);
      return hashed;
    };
    const assets = {
      script: asset('page.js', await bundle('page.mjs')),
      style: asset('page.css', await bundle('page.css')),
      index: asset('search.json', JSON.stringify(indexOf(site))),
    };
    for (const page of site.pages) put(page.address, layOut(page, { groups: site.groups, assets }));
    const dist = join(folder, 'dist');
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(fresh, dist);
    console.log(
      `${site.pages.length} pages; the index has ${Math.round(readFileSync(join(dist, `${assets.index}.gz`)).length / 1000)} kB in gzip`,
    );
  } finally {
    rmSync(old, { recursive: true, force: true });
    rmSync(fresh, { recursive: true, force: true });
  }
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

import { build } from 'esbuild';
import { gzipSync } from 'node:zlib';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), '..', 'dist');

/** Minified size of what a browser needs: a contract and a client over fetch, in bytes. */
export async function clientBundleSize() {
  const { outputFiles } = await build({
    stdin: {
      contents: `export { contract, get, post, put, patch, del, prefix, path, query, header, cookie, field, body, group, unit, connect } from './client.js';
        export { fetchBackend } from './fetch.js';`,
      resolveDir: dist,
    },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    legalComments: 'none',
  });
  const [file] = outputFiles;
  return { minified: file.contents.byteLength, gzipped: gzipSync(file.contents, { level: 9 }).byteLength };
}

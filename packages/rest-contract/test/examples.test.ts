import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const examples = readdirSync(join(root, 'examples')).filter((file) => file.endsWith('.ts'));
// Inside the package, so that the compiled examples find the packages it depends on.
mkdirSync(join(root, 'node_modules'), { recursive: true });
const out = mkdtempSync(join(root, 'node_modules', '.examples-'));
afterAll(() => rmSync(out, { recursive: true, force: true }));

/** The output that an example promises: the comment at its end. */
function promised(file: string): string {
  const source = readFileSync(join(root, 'examples', file), 'utf8');
  const lines = source.slice(source.lastIndexOf('// prints:')).trim().split('\n').slice(1);
  return lines.map((line) => line.replace(/^\/\/ ?/, '')).join('\n');
}

test.each(examples)(
  '%s prints what it says',
  async (file) => {
    const outfile = join(out, file.replace(/\.ts$/, '.mjs'));
    await build({
      entryPoints: [join(root, 'examples', file)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      alias: { 'rest-contract': join(root, 'src') },
      external: ['zod', 'rxjs', 'express', '@nestjs/*', 'reflect-metadata'],
    });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
    expect(stdout.trim()).toBe(promised(file));
  },
  60_000,
);

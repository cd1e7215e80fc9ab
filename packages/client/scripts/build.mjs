// Compiles src to dist with the compiler of the repository. The old dist stays until the new one is whole.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const fresh = mkdtempSync(join(root, 'dist.new-'));
const old = fresh.replace('.new-', '.old-');
try {
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh], {
    stdio: 'inherit',
  });
  const dist = join(root, 'dist');
  // Aside rather than removed: a program that starts meanwhile misses it for a moment at most.
  if (existsSync(dist)) renameSync(dist, old);
  renameSync(fresh, dist);
} finally {
  rmSync(old, { recursive: true, force: true });
  rmSync(fresh, { recursive: true, force: true });
}

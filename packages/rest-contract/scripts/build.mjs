// Compiles src to dist with the compiler of the repository. The old dist stays until the new one is whole.
import { execFileSync } from 'node:child_process';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
// The compiler makes the folder, by the umask: one of mkdtemp would be closed to all users but the one who builds.
const [fresh, old] = ['new', 'old'].map((name) => join(root, `dist.${name}-${process.pid}`));
for (const folder of [fresh, old]) rmSync(folder, { recursive: true, force: true });
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

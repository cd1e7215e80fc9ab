// Compiles src to dist with the compiler of the repository. The old dist stays until the new one is whole.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { intoPlace } from '../../../scripts/into-place.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
await intoPlace(join(root, 'dist'), (fresh) =>
  execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', fresh], {
    stdio: 'inherit',
  }),
);

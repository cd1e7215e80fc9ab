import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const restContract = fileURLToPath(new URL('packages/rest-contract/src/', import.meta.url));

export default defineConfig({
  resolve: {
    // By its sources, so that tests need no build of it.
    alias: [
      { find: /^rest-contract$/, replacement: `${restContract}index.ts` },
      { find: /^rest-contract\/(\w+)$/, replacement: `${restContract}$1.ts` },
    ],
  },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'packages/*/{src,test}/**/*.test.ts'],
    setupFiles: ['test/support/quiet.ts'],
    globalSetup: ['test/support/vitest-global-setup.ts'],
    // Most tests wait for a database or a process rather than compute: a worker more than there are cores pays.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});

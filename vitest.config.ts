import { defineConfig } from 'vitest/config';

export default defineConfig({
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

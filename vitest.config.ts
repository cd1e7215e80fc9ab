import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { longest, LongestFirst } from './test/support/longest-first.js';
import { partOf, stepsOf, testFiles } from './test/support/steps.js';

const restContract = fileURLToPath(new URL('packages/rest-contract/src/', import.meta.url));
const client = fileURLToPath(new URL('packages/client/src/', import.meta.url));

/** 'daily' for `npm test`, 'deep' for `npm run test:deep`; without it, as when paths are named, all tests may run. */
const step = process.env['MUSTER_TEST_STEP'];
const root = fileURLToPath(new URL('.', import.meta.url));
const files = testFiles(root).filter((file) => !step || stepsOf(file).some((each) => each === step));
const { DEEP_EVERY: every = '1', LAWS_SEED: seed = '0' } = process.env;
const include = step === 'deep' ? partOf(files, longest, Number(every), Number(seed)) : files;

export default defineConfig({
  resolve: {
    // By their sources, so that tests need no build of them.
    alias: [
      { find: /^muster-client$/, replacement: `${client}index.ts` },
      { find: /^rest-contract$/, replacement: `${restContract}index.ts` },
      { find: /^rest-contract\/(\w+)$/, replacement: `${restContract}$1.ts` },
    ],
  },
  test: {
    include,
    setupFiles: ['test/support/quiet.ts', 'test/support/seed.ts', 'test/support/refusals.ts'],
    globalSetup: ['test/support/vitest-global-setup.ts'],
    // Tests wait for a database or a process more than they compute; those of the deep step start the product, which computes.
    maxWorkers: step === 'deep' ? 3 : 5,
    sequence: { sequencer: LongestFirst },
    // The files of a worker share their modules: to load Nest and the rooms anew for each took longer than all tests.
    isolate: false,
    // What hangs is told from what is slow: a start of the product takes a minute beside a load of 20.
    testTimeout: step === 'daily' ? 30_000 : 120_000,
    hookTimeout: step === 'daily' ? 60_000 : 180_000,
    teardownTimeout: 30_000,
  },
});

import { setUp } from './setup.mjs';

/** `npm run fuzz`: the set-up, then calls made up from the served document. */
await setUp();
await import('../test/support/ts-register.mjs');
const { runFuzz } = await import('../test/fuzz/run.ts');
process.exit(await runFuzz(process.argv.slice(2)));

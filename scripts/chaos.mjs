import { setUp } from './setup.mjs';

/** `npm run chaos -- --minutes 20`: the set-up, then a cluster under faults (test/chaos). */
await setUp();
await import('../test/support/ts-register.mjs');
const { main } = await import('../test/chaos/main.ts');
process.exit(await main(process.argv.slice(2)));

import { setUp } from './setup.mjs';

/**
 * `npm run screenshots -- [directory] [page...]`: the set-up, then a picture of each page of the dashboard, or of these.
 * `npm run screenshots -- --docs [picture...]`: the pictures of docs/images (test/screenshots).
 */
await setUp();
await import('../test/support/ts-register.mjs');
const { main } = await import('../test/screenshots/main.ts');
process.exit(await main(process.argv.slice(2)));

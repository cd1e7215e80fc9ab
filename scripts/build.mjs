import { setUp } from './setup.mjs';

await setUp({ packagesOnly: process.argv.includes('--packages-only') });

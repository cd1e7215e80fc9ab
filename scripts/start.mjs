import { setUp } from './setup.mjs';

/** `npm start` and `npm run demo`: the set-up, then the program in this very process, so that signals reach it. */
const args = process.argv.slice(2);
await setUp();
const command = args.includes('--demo') ? 'demo' : 'start';
process.argv.splice(2, Infinity, command, ...args.filter((arg) => arg !== '--demo'));
await import('../bin/muster.mjs');

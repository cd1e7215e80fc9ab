import { existsSync } from 'node:fs';
import { setUp } from './setup.mjs';

/** `npm run bench:<name>`: the set-up, then the benchmark in this process. */
const [name, ...args] = process.argv.slice(2);
const file = new URL(`../test/bench/${name}.mjs`, import.meta.url);
if (!existsSync(file)) {
  console.error(`There is no benchmark '${name}'`);
  process.exit(1);
}
await setUp();
process.argv.splice(2, Infinity, ...args);
await import(file);

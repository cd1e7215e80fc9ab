#!/usr/bin/env node
// Runs dist/cli/commands.cjs, which the build makes (scripts/command-line.mjs), with what V8 made of it then: to compile the text at
// each start takes longer than what most commands do. V8 takes nothing that another version of it has made; where the text was
// changed since, it is compiled anew.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

const url = new URL('../dist/cli/commands.cjs', import.meta.url);
const compiled = new URL('../dist/cli/commands.v8', import.meta.url);
if (!existsSync(compiled)) {
  console.error('muster: it is not built yet; npm run build does that');
  process.exit(1);
}
const script = new Script(readFileSync(url, 'utf8'), {
  filename: fileURLToPath(url),
  cachedData: statSync(compiled).mtimeMs < statSync(url).mtimeMs ? undefined : readFileSync(compiled),
});
const importFrom = (name) => import(name.startsWith('.') ? new URL(name, url).href : name);
script.runInThisContext()(createRequire(url), importFrom, url.href);

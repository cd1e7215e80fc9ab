#!/usr/bin/env node
import { existsSync } from 'node:fs';

const program = new URL('../../../dist/packages/migrate/src/main.js', import.meta.url);
if (!existsSync(program)) {
  console.error('muster-migrate: it is not built yet; npm run build does that');
  process.exit(1);
}
await import(program.href);

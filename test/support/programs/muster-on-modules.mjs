/** The built product on the modules that its bundles are made of: what is preloaded can change their classes. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { runInThisContext } from 'node:vm';

const url = new URL('../../../dist/cli/commands.cjs', import.meta.url);
const importFrom = (name) =>
  import(name.startsWith('.') ? new URL(name.replace('/servers/', '/src/'), url).href : name);
runInThisContext(readFileSync(url, 'utf8'))(createRequire(url), importFrom, url.href);

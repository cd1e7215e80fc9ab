import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownFolder, sharedFolder } from './places.js';
import type { ServerUser } from './postmaster.js';

/** Node knows no Unix sockets on Windows: there the server listens on loopback TCP. */
export const hasSockets = process.platform !== 'win32';
/** Part of the name of the socket, which clients put together themselves. */
export const socketPort = 5_432;
/** Bytes of a path that the system takes for a socket, without the zero at its end. */
const longestPath = process.platform === 'darwin' ? 103 : 107;

/** A path that needs no quotes for the shell of pg_ctl, the server's list of folders and a URL of libpq. */
export const canHoldSocket = (folder: string): boolean =>
  /^\/[\w/.+-]*$/.test(folder) && Buffer.byteLength(join(folder, `.s.PGSQL.${socketPort}`)) <= longestPath;

/**
 * A folder for the socket of a cluster whose own is too deep, or has odd characters in its name: closed to all but the
 * server's user, like the cluster, and made by us where nobody else can have made it. Root's has a name by the data directory. That
 * of an ordinary user is at random in the folder for temporary files, and `noted`: it is made again when it was cleared away.
 */
export function openSocketFolder(
  dataDir: string,
  user: ServerUser,
  noted: string | undefined,
  elsewhere = sharedFolder,
): string {
  if (user) {
    const own = ownFolder(dataDir, elsewhere);
    const folder = join(own, 'socket');
    mkdirSync(own, { recursive: true });
    for (const passed of [elsewhere, own]) chmodSync(passed, 0o711);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    chownSync(folder, user.uid, user.gid);
    return folder;
  }
  if (noted !== undefined && isOursAlone(noted)) return noted;
  const prefix = join(tmpdir(), 'muster-');
  return mkdtempSync(canHoldSocket(`${prefix}123456`) ? prefix : '/tmp/muster-');
}

function isOursAlone(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It is there, as a rule; whose it is shows below.
  }
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}

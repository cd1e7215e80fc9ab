import { createHash, randomInt } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { StartError } from '../errors.js';
import { type Binaries, copyBinaries } from './binaries.js';
import { canReach, type ServerUser } from './postmaster.js';

/** Directory of root's server when its user cannot get at the program's own directories (such as /root). */
export const sharedFolder = '/var/lib/muster';

export interface Places {
  binaries: Binaries;
  /** The database cluster, `postgres-<major>` in whichever folder was chosen. */
  cluster: string;
}

/** Decides where the server's programs and files lie, and says so when that is not the data directory. */
export function findPlaces(
  dataDir: string,
  installed: Binaries,
  user: ServerUser,
  say: (line: string) => void,
  elsewhere = sharedFolder,
): Places {
  if (!existsSync(dataDir)) {
    mkdirSync(dataDir, { recursive: true });
    // Whatever the umask: the server's user has to pass through.
    if (user) chmodSync(dataDir, 0o711);
  }
  const binaries = canReach(user, join(installed.root, 'bin', 'postgres'))
    ? installed
    : copyBinaries(installed, openFolder(elsewhere));
  const folder = clusterFolder(dataDir, user, elsewhere);
  if (binaries !== installed || folder !== dataDir) {
    say(
      `User '${user?.name}' runs PostgreSQL and cannot reach ${dataDir}: the files of PostgreSQL are in ${elsewhere}`,
    );
  }
  refuseOtherMajor(folder, binaries.major);
  return { binaries, cluster: join(folder, `postgres-${binaries.major}`) };
}

/** Owner of the database files of this data directory, wherever they lie; undefined: there are none yet. */
export function clusterOwner(dataDir: string, elsewhere = sharedFolder): { uid: number; gid: number } | undefined {
  if (!existsSync(dataDir)) return undefined;
  for (const folder of [ownFolder(dataDir, elsewhere), dataDir]) {
    const [cluster] = clustersIn(folder);
    if (cluster === undefined) continue;
    const { uid, gid } = statSync(join(folder, cluster));
    return { uid, gid };
  }
  return undefined;
}

export const ownFolder = (dataDir: string, elsewhere: string): string =>
  join(elsewhere, createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, 12));

/** Existing files win over what is reachable now: changed permissions must never lead to a new, empty database. */
function clusterFolder(dataDir: string, user: ServerUser, elsewhere: string): string {
  const own = ownFolder(dataDir, elsewhere);
  if (user && clustersIn(own).length > 0) return own;
  if (clustersIn(dataDir).length > 0 || canReach(user, dataDir)) return dataDir;
  openFolder(elsewhere);
  return openFolder(own);
}

function openFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o711);
  return path;
}

function clustersIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter((name) => /^postgres-\d+$/.test(name));
}

/** Nothing is upgraded in silence. */
function refuseOtherMajor(folder: string, major: string): void {
  for (const name of clustersIn(folder)) {
    const found = readFileSync(join(folder, name, 'PG_VERSION'), 'utf8').trim();
    if (found === major) continue;
    throw new StartError(
      `${join(folder, name)} holds a database of PostgreSQL ${found}, this program brings PostgreSQL ${major}: ` +
        `dump it with pg_dumpall of PostgreSQL ${found}, move the folder away, start once, and load the dump`,
    );
  }
}

/** Below the ports that systems give to outgoing connections and that tasks get, so that a kept port stays free. */
const lowest = 20_000;
const highest = 29_999;
const attempts = 100;

export async function freePort(): Promise<number> {
  for (let left = attempts; left > 0; left--) {
    const port = randomInt(lowest, highest + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port found between ${lowest} and ${highest}`);
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

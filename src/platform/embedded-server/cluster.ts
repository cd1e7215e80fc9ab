import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { StartError } from '../errors.js';
import { freePort, type Places } from './places.js';
import { runningPostmaster, runProgram, type ServerUser } from './postmaster.js';
import { hasSockets, socketPort } from './socket-folder.js';

/** Access to the cluster. Lies inside of it, so that both come into being with one rename and move together. */
const ClusterAccess = z.object({
  /** For TCP, where there are no Unix sockets. */
  port: z.number(),
  password: z.string(),
  /** Directory of the socket when the cluster's own directory cannot hold it. */
  socketFolder: z.string().optional(),
});
export type ClusterAccess = z.infer<typeof ClusterAccess>;
const accessFile = 'muster-access.json';
const superuser = 'muster';

/** Locale with an order of texts that is equal on every machine, whatever locales it has. */
const locale = ['--encoding', 'UTF8', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8', '--locale', 'C'];

/** Each start says where it listens. Two instances, their pools and some psql sessions fit in the connections. */
const configuration = `
listen_addresses = ''
max_connections = 200
log_checkpoints = off
timezone = 'UTC'
`;

/** Made under another name first: an initdb that was killed leaves nothing that looks like a database. */
export async function createCluster({ binaries, cluster }: Places, user: ServerUser): Promise<void> {
  const half = `${cluster}.new`;
  const passwordFile = `${cluster}.password`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { mode: 0o700 });
  const password = randomBytes(24).toString('base64url');
  try {
    writeForServer(passwordFile, password, user);
    if (user) chownSync(half, user.uid, user.gid);
    const access = ['--username', superuser, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
    const { code, output } = await runProgram(binaries, user, 'initdb', ['--pgdata', half, ...access, ...locale]);
    if (code !== 0) throw new StartError(`initdb failed: ${output}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  appendFileSync(join(half, 'postgresql.conf'), configuration);
  writeForServer(join(half, accessFile), JSON.stringify({ port: await freePort(), password }), user);
  renameSync(half, cluster);
}

export function clusterExists({ cluster }: Places): boolean {
  return existsSync(join(cluster, 'PG_VERSION'));
}

export function readAccess(cluster: string): ClusterAccess {
  return ClusterAccess.parse(JSON.parse(readFileSync(join(cluster, accessFile), 'utf8')));
}

export function writeAccess(cluster: string, access: ClusterAccess, user: ServerUser): void {
  const path = join(cluster, accessFile);
  writeForServer(`${path}.new`, JSON.stringify(access), user);
  renameSync(`${path}.new`, path);
}

/**
 * URL of a cluster, whether its server runs or not. A server of an earlier release may run that listens on TCP. The
 * directory of a socket stands percent-encoded where hosts do: who does not know that form reaches nothing at all by
 * it.
 */
export function urlOf(cluster: string): string {
  const { port, password, socketFolder = resolve(cluster) } = readAccess(cluster);
  const isOnTcp = !hasSockets || runningPostmaster(cluster)?.isOnTcp;
  const place = isOnTcp ? `127.0.0.1:${port}` : `${encodeURIComponent(socketFolder)}:${socketPort}`;
  return `postgres://${superuser}:${password}@${place}/postgres`;
}

function writeForServer(path: string, text: string, user: ServerUser): void {
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600 });
  if (user) chownSync(path, user.uid, user.gid);
}

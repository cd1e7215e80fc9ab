import { execFile, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { serverUser } from '../../../src/platform/embedded-server/postmaster.js';
import { freePort } from '../../support/free-port.js';
import { tempFolder } from '../../support/temp-folder.js';

const run = promisify(execFile);

export interface SystemPostgres {
  url: string;
  stop(): Promise<void>;
}

const programs = ['pg_dump', 'pg_restore', 'psql', 'initdb', 'pg_ctl', 'postgres'];

/** The folder with client programs and a server of one version, as installed on this machine; undefined: there is none. */
export function findPostgres(): string | undefined {
  const told = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'pg_dump'));
  const folders = [told, ...onPath.filter((path) => existsSync(path)).map((path) => dirname(realpathSync(path)))];
  return folders.find((folder) => folder && programs.every((name) => existsSync(join(folder, name))));
}

/** A server of that version, with an empty database. */
export async function startPostgres(bin: string): Promise<SystemPostgres> {
  const { path, remove } = tempFolder();
  const user = serverUser();
  const data = join(path, 'data');
  mkdirSync(data, { mode: 0o700 });
  if (user) chownSync(data, user.uid, user.gid);
  const options = { uid: user?.uid, gid: user?.gid, cwd: '/' };
  const port = await freePort();
  try {
    await run(
      join(bin, 'initdb'),
      ['-D', data, '-U', 'muster', '--auth=trust', '--encoding=UTF8', '--no-sync'],
      options,
    );
    const parameters = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`;
    await run(join(bin, 'pg_ctl'), ['-D', data, '-w', '-l', join(data, 'log'), '-o', parameters, 'start'], options);
  } catch (cause) {
    remove();
    throw cause;
  }
  return {
    url: `postgres://muster@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await run(join(bin, 'pg_ctl'), ['-D', data, '-w', '-m', 'immediate', 'stop'], options);
      remove();
    },
  };
}

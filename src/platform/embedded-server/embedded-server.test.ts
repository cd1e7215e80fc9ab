import { execFile, spawn } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../test/support/free-port.js';
import { spawnTs } from '../../../test/support/spawn.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { connect } from '../database/connection.js';
import { findBinaries } from './binaries.js';
import { EmbeddedServer } from './embedded-server.js';
import { canReach, serverUser } from './postmaster.js';

const servers: EmbeddedServer[] = [];
const lines: string[] = [];
afterEach(async () => {
  const all = servers.splice(0);
  // At one time: none starts again what another one has ended. Whatever did not stop so fails here.
  await Promise.allSettled(all.map((server) => server.stop('immediate')));
  for (const server of all) await server.stop('immediate');
  lines.length = 0;
});

function folder(): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  return path;
}

async function start(dataDir: string): Promise<EmbeddedServer> {
  const server = await EmbeddedServer.start({ dataDir, say: (line) => lines.push(line) });
  servers.push(server);
  return server;
}

async function query<T>(url: string, sql: string): Promise<T[]> {
  const client = await connect(url, 'test', 5_000);
  try {
    return (await client.query(sql)).rows as T[];
  } finally {
    await client.end();
  }
}

describe('a data directory of its own', () => {
  test('the server listens on a socket in a closed folder, asks for a password, and the password is for its owner only', async () => {
    const dataDir = folder();
    const server = await start(dataDir);
    const cluster = join(dataDir, 'postgres-18');
    const settings = await query(
      server.url,
      `SELECT current_setting('listen_addresses') AS listen, current_setting('unix_socket_directories') AS sockets,
         current_setting('password_encryption') AS encryption`,
    );
    expect(settings).toEqual([{ listen: '', sockets: cluster, encryption: 'scram-sha-256' }]);
    expect(statSync(join(cluster, '.s.PGSQL.5432')).isSocket()).toBe(true);
    expect(statSync(cluster).mode & 0o777).toBe(0o700);
    const wrong = new URL(server.url);
    wrong.password = 'guess';
    await expect(query(wrong.toString(), 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(cluster, 'muster-access.json')).mode & 0o777).toBe(0o600);
  });

  test.each(['deep/'.repeat(30), 'a, %41 and é'])(
    'in %s it listens in a short folder that is as closed, the same after each start',
    async (name) => {
      const dataDir = join(folder(), name);
      const first = await start(dataDir);
      const [socketFolder] = await query<{ at: string }>(
        first.url,
        "SELECT current_setting('unix_socket_directories') AS at",
      );
      const at = socketFolder!.at;
      onTestFinished(() => rmSync(process.getuid?.() === 0 ? dirname(at) : at, { recursive: true }));
      expect(at.length).toBeLessThan(90);
      const { mode, uid } = statSync(at);
      expect({ mode: mode & 0o777, uid }).toEqual({ mode: 0o700, uid: statSync(join(dataDir, 'postgres-18')).uid });
      const { url } = first;
      expect(EmbeddedServer.urlIn(dataDir)).toBe(url);
      await first.stop();
      expect((await start(dataDir)).url).toBe(url);
    },
  );

  test('a server of an earlier release, which listens on TCP, is used as it is, and moves to a socket at the next start', async () => {
    const dataDir = folder();
    const before = await start(dataDir);
    await before.stop();
    const cluster = join(dataDir, 'postgres-18');
    const port = await freePort();
    const file = join(cluster, 'muster-access.json');
    const access = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...access, port }));
    const tcp = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`;
    const log = join(cluster, 'server.log');
    const { root } = findBinaries();
    const user = serverUser();
    await promisify(execFile)(
      join(canReach(user, root) ? root : `/var/lib/muster/postgres-${findBinaries().version}`, 'bin', 'pg_ctl'),
      ['--pgdata', cluster, '--wait', '--log', log, '--options', tcp, 'start'],
      { uid: user?.uid, gid: user?.gid, cwd: '/' },
    );
    const beside = await start(dataDir);
    expect(new URL(beside.url).host).toBe(`127.0.0.1:${port}`);
    expect(await query(beside.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    servers.push(await EmbeddedServer.start({ dataDir, isAlone: true }));
    expect(decodeURIComponent(new URL(beside.url).host)).toBe(`${cluster}:5432`);
    expect(await query(beside.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('data, place and password are the same after a stop and a start', async () => {
    const dataDir = folder();
    const first = await start(dataDir);
    await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    expect(first.pid).toBeUndefined();
    const second = await start(dataDir);
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }]);
  });

  test('a start finds the server of a program that was killed, and adopts it', async () => {
    const dataDir = folder();
    const program = spawnTs(new URL('../../../test/support/programs/embedded-server.ts', import.meta.url), [dataDir]);
    onTestFinished(() => program.kill());
    const pid = await program.line('pid ');
    await program.kill('SIGKILL');
    const adopted = await start(dataDir);
    expect(String(adopted.pid)).toBe(pid);
    expect(await query(adopted.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a killed server is started again in its place with everything that was committed', async () => {
    const server = await start(folder());
    await query(server.url, 'CREATE TABLE kept AS SELECT 42 AS answer');
    const killed = server.pid!;
    process.kill(killed, 'SIGKILL');
    await waitFor('another server', () => server.pid !== undefined && server.pid !== killed);
    const answer = await waitFor('an answer', () => query(server.url, 'SELECT answer FROM kept'));
    expect(answer).toEqual([{ answer: 42 }]);
    expect(lines).toContain('PostgreSQL has died; starting it again');
  });

  test('an initdb that was killed leaves nothing in the way', async () => {
    const dataDir = folder();
    mkdirSync(join(dataDir, 'postgres-18.new'));
    writeFileSync(join(dataDir, 'postgres-18.new', 'PG_VERSION'), '18');
    const server = await start(dataDir);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a pid file whose number another program has now does not keep the server from starting', async () => {
    const dataDir = folder();
    const before = await start(dataDir);
    const pidFile = join(dataDir, 'postgres-18', 'postmaster.pid');
    const text = readFileSync(pidFile, 'utf8');
    await before.stop();
    writeFileSync(pidFile, text.replace(/^\d+/, String(process.pid)), { mode: 0o600 });
    const { uid, gid } = statSync(join(dataDir, 'postgres-18'));
    chownSync(pidFile, uid, gid);
    const after = await start(dataDir);
    expect(await query(after.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('two programs that start it at the same moment get the same server', async () => {
    const dataDir = folder();
    const before = await start(dataDir);
    await before.stop();
    for (let round = 0; round < 3; round++) {
      const servers = await Promise.all([start(dataDir), start(dataDir), start(dataDir)]);
      for (const { url } of servers) expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      expect(new Set(servers.map(({ url }) => url)).size).toBe(1);
      for (const server of servers) await server.stop();
    }
  }, 120_000);

  test('the pid of the former server is in use again: the next one starts all the same', async () => {
    const dataDir = folder();
    const before = await start(dataDir);
    const lock = join(dataDir, 'postgres-18', '.s.PGSQL.5432.lock');
    const text = readFileSync(lock, 'utf8');
    await before.stop();
    // One of the same user: the server takes it for its former self.
    const { uid, gid } = statSync(join(dataDir, 'postgres-18'));
    const other = spawn('sleep', ['600'], { uid, gid });
    onTestFinished(() => void other.kill());
    writeFileSync(lock, text.replace(/^\d+/, String(other.pid)), { mode: 0o600 });
    chownSync(lock, uid, gid);
    const after = await start(dataDir);
    expect(await query(after.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test.each(['16', '17'])(
    'a folder of PostgreSQL %s is refused in one line that names both versions',
    async (major) => {
      const dataDir = folder();
      mkdirSync(join(dataDir, `postgres-${major}`));
      writeFileSync(join(dataDir, `postgres-${major}`, 'PG_VERSION'), `${major}\n`);
      const refused = await EmbeddedServer.start({ dataDir }).catch((cause: Error) => cause.message);
      expect(refused).toMatch(new RegExp(`holds a database of PostgreSQL ${major}, this program brings PostgreSQL 18`));
      expect(refused).not.toContain('\n');
    },
  );
});

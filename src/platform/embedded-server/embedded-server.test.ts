import { chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { spawnTs } from '../../../test/support/spawn.js';
import { tempFolder } from '../../../test/support/temp-folder.js';
import { waitFor } from '../../../test/support/wait-for.js';
import { connect } from '../database/connection.js';
import { EmbeddedServer } from './embedded-server.js';

const servers: EmbeddedServer[] = [];
const lines: string[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop('immediate');
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
  test('the server listens on loopback only, asks for a password, and the password is for its owner only', async () => {
    const dataDir = folder();
    const server = await start(dataDir);
    const settings = await query(
      server.url,
      `SELECT current_setting('listen_addresses') AS listen, current_setting('unix_socket_directories') AS sockets,
         current_setting('password_encryption') AS encryption`,
    );
    expect(settings).toEqual([{ listen: '127.0.0.1', sockets: '', encryption: 'scram-sha-256' }]);
    const wrong = new URL(server.url);
    wrong.password = 'guess';
    await expect(query(wrong.toString(), 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(dataDir, 'postgres-18', 'muster-access.json')).mode & 0o777).toBe(0o600);
  });

  test('data, port and password are the same after a stop and a start', async () => {
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

  test('a killed server is started again on its port with everything that was committed', async () => {
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
  });

  test('a port that was noted for another server is not believed', async () => {
    const dataDir = folder();
    const first = await start(dataDir);
    const file = join(dataDir, 'postgres-18', 'muster-access.json');
    const access = JSON.parse(readFileSync(file, 'utf8')) as { port: number };
    writeFileSync(file, JSON.stringify({ ...access, port: 1 }));
    const second = await start(dataDir);
    expect(new URL(second.url).port).toBe(String(access.port));
    expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('when another program has its port, the server moves and says so', async () => {
    const dataDir = folder();
    const before = await start(dataDir);
    await before.stop();
    const port = Number(new URL(before.url).port);
    const squatter = await occupy(port);
    onTestFinished(() => void squatter.close());
    const after = await start(dataDir);
    expect(new URL(after.url).port).not.toBe(String(port));
    expect(lines.join()).toContain(`Port ${port} of the embedded PostgreSQL is taken`);
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

function occupy(port: number): Promise<Server> {
  const server = createServer();
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkDatabase } from '../../src/platform/database/check-database.js';
import { inject, afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { spawnNode, type TestProcess } from '../support/spawn.js';
import { tempFolder } from '../support/temp-folder.js';
import { createDatabase } from '../support/test-database.js';
import { waitFor } from '../support/wait-for.js';
import { pidsMentioning } from './support/processes.js';

/** The commands of the built product, as processes. */
const program = fileURLToPath(new URL('../../bin/muster.mjs', import.meta.url));
const started: TestProcess[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.kill()));
});

function folder(): string {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  return path;
}
/** With a database of its own. */
const alone = ['scheduler', '--new-database'];
function muster(args: string[], env: Record<string, string> = {}): TestProcess {
  const own = { DATABASE_URL: '', MUSTER_PORT: '0', MUSTER_DATA_DIR: folder(), ...env };
  const process = spawnNode([program, ...args], own);
  started.push(process);
  return process;
}
const exitCode = async (each: TestProcess): Promise<number> => {
  await waitFor('the process to end', () => each.child.exitCode !== null, { timeoutMillis: 60_000 });
  return each.child.exitCode!;
};
async function databaseUrl(dataDir: string): Promise<string> {
  const process = muster(['database-url'], { MUSTER_DATA_DIR: dataDir });
  expect(await exitCode(process)).toBe(0);
  return process.line('postgres:').then((rest) => `postgres:${rest}`);
}
async function database(): Promise<string> {
  const { url, remove } = await createDatabase();
  onTestFinished(remove);
  return url;
}

/** One that is not there, on a server that says so at once. */
async function missingDatabase(): Promise<string> {
  const url = new URL(await database());
  url.pathname = '/nothing';
  return url.toString();
}

describe('where tasks would be of the user of the agent', () => {
  const shared = { cluster: { local: { tasksRunAs: 'AGENT' } } };
  /** The database is looked for after that, and is not there. */
  async function start(settings: object): Promise<TestProcess> {
    const config = join(folder(), 'settings.json');
    writeFileSync(config, JSON.stringify(settings));
    const process = muster(['start'], { MUSTER_CONFIG: config, DATABASE_URL: await missingDatabase() });
    expect(await exitCode(process)).toBe(1);
    return process;
  }

  test('the start says so, and what it means', async () => {
    const { lines } = await start(shared);
    const [said = '', ...more] = lines.filter((line) => line.startsWith('WARNING: '));
    expect(more).toEqual([]);
    for (const meant of ['Tasks share the user of the agent', 'the secret of the agent', 'DATABASE_URL', 'limits'])
      expect(said).toContain(meant);
  });

  test('agent.requireIsolation refuses the start before anything is begun', async () => {
    const { lines } = await start({ ...shared, agent: { requireIsolation: true } });
    expect(lines).toEqual([expect.stringContaining('agent.requireIsolation: tasks would share the user of the agent')]);
  });
});

describe('what cannot start says why on one line and does not end with exit code 0:', () => {
  test('a port in use', async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void squatter.close());
    const { port } = squatter.address() as AddressInfo;
    const process = muster(['scheduler'], { DATABASE_URL: await database(), MUSTER_PORT: String(port) });
    expect(await exitCode(process)).toBe(1);
    expect(process.lines.filter((line) => !line.startsWith('{'))).toEqual([
      `Port ${port} on 127.0.0.1 is taken by another program: set MUSTER_PORT to a free one ` +
        `(it belongs to user ${userInfo().uid})`,
    ]);
  });

  test('a database that is not there', async () => {
    const process = muster(['scheduler'], { DATABASE_URL: await missingDatabase() });
    expect(await exitCode(process)).toBe(1);
    expect(process.lines).toEqual([
      expect.stringMatching(/^The database at \S+\/nothing cannot be reached: database "nothing" does not exist$/),
    ]);
  });

  test('a database that cannot be reached is waited for, until a signal', async () => {
    const process = muster(['scheduler'], { DATABASE_URL: 'postgres://muster:secret@127.0.0.1:1/muster' });
    await process.line(
      'The database at 127.0.0.1:1/muster cannot be reached: connect ECONNREFUSED 127.0.0.1:1. Waiting up to 60 seconds',
    );
    process.child.kill('SIGTERM');
    expect(await exitCode(process)).toBe(0);
  });

  test('a wrong setting, with an exit code of its own', async () => {
    const process = muster(['scheduler', '--port', 'many']);
    expect(await exitCode(process)).toBe(2);
    expect(process.lines).toEqual(['Cannot start: --port: must be a port number, not "many"']);
  });

  test('a second Muster on the same data directory', async () => {
    const dataDir = folder();
    const first = muster(alone, { MUSTER_DATA_DIR: dataDir });
    await first.line('Muster is ready');
    const second = muster(alone, { MUSTER_DATA_DIR: dataDir });
    expect(await exitCode(second)).toBe(1);
    expect(second.lines).toEqual([
      `Muster already runs on ${dataDir} (process ${first.pid}); a second scheduler joins it by --join ${dataDir}`,
    ]);
    first.child.kill('SIGTERM');
    expect(await exitCode(first)).toBe(0);
  });
});

describe('muster scheduler', () => {
  test('prints its addresses, serves, and stops in order on SIGTERM', async () => {
    const process = muster(alone);
    const api = await process.line('  API         ');
    const ready = await fetch(api.replace(/\/api$/, '/healthz'));
    expect(ready.status).toBe(200);
    expect(await process.line('  Database    ')).toMatch(
      /^postgres:\/\/muster:\*\*\*@%2F\S+:5432\/postgres {3}\(to open it: muster psql\)$/,
    );
    process.child.kill('SIGTERM');
    expect(await exitCode(process)).toBe(0);
    const steps = process.lines.slice(process.lines.indexOf('Stopping in order (repeat to stop at once)'));
    const names = steps.filter((line) => line.startsWith('  ')).map((line) => line.split(':')[0]!.trim());
    expect(names).toEqual(['scheduler', 'database']);
  });

  test('that makes a database of its own says so where nobody can be asked', async () => {
    const process = muster(['scheduler']);
    expect(await process.line('There is no database in ')).toMatch(/--join <.*DATABASE_URL .*--new-database /);
    await process.line('Muster is ready');
  });

  test('does not show the password of a database that is not its own', async () => {
    const process = muster(['scheduler'], { DATABASE_URL: await database() });
    const shown = await process.line('  Database    ');
    expect(shown).toContain(':***@');
    expect(process.lines.join('\n')).not.toContain(`:${new URL(inject('adminUrl')).password}@`);
  });

  test('warns when it can be reached from outside', async () => {
    const process = muster(['scheduler', '--host', '0.0.0.0'], { DATABASE_URL: await database() });
    await process.line('WARNING: Muster listens on 0.0.0.0');
  });

  test('on a second SIGINT stops now, and leaves no database behind', async () => {
    const dataDir = folder();
    const process = muster(alone, { MUSTER_DATA_DIR: dataDir });
    await process.line('Muster is ready');
    const url = await databaseUrl(dataDir);
    await checkDatabase(url);
    process.child.kill('SIGINT');
    await process.line('Stopping in order');
    process.child.kill('SIGINT');
    await exitCode(process);
    await waitFor('the database to be gone', async () => {
      return checkDatabase(url).then(
        () => false,
        () => true,
      );
    });
  });
});

describe('muster database-url', () => {
  test('prints the password of the embedded database, which nothing else does, while it runs and afterwards', async () => {
    const dataDir = folder();
    const scheduler = muster(alone, { MUSTER_DATA_DIR: dataDir });
    await scheduler.line('  Process id');
    const url = await databaseUrl(dataDir);
    await checkDatabase(url);
    const { password } = new URL(url);
    expect(password).toMatch(/^\S{32}$/);
    scheduler.child.kill('SIGTERM');
    expect(await exitCode(scheduler)).toBe(0);
    expect(scheduler.lines.join('\n')).not.toContain(password);
    expect(await databaseUrl(dataDir)).toBe(url);
  });

  test('prints the URL of the settings', async () => {
    const process = muster(['database-url'], { DATABASE_URL: 'postgres://ann:secret@db.example.com/muster' });
    expect(await exitCode(process)).toBe(0);
    expect(process.lines.toSorted().toReversed()).toEqual([
      'postgres://ann:secret@db.example.com/muster',
      expect.stringMatching(/^This URL holds a password: .*muster psql$/),
    ]);
  });

  test('says where there is none, and makes none', async () => {
    const dataDir = folder();
    const process = muster(['database-url'], { MUSTER_DATA_DIR: dataDir });
    expect(await exitCode(process)).toBe(1);
    expect(process.lines).toEqual([`There is no database in ${dataDir}: the first start creates it`]);
  });
});

const hasPsql = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'psql')));
describe.runIf(hasPsql)('muster psql', () => {
  const shows = String.raw`\! tr '\0' ' ' </proc/$PPID/cmdline; echo; stat -c %a "$PGPASSFILE"`;
  async function psql(url: string, ...words: string[]): Promise<TestProcess> {
    const process = muster(['psql', ...words], { DATABASE_URL: url });
    await exitCode(process);
    return process;
  }

  test('opens the database with a password that no command line and no environment shows', async () => {
    const url = await database();
    const { password } = new URL(url);
    const asked = await psql(url, '--', '-At', '-c', 'SELECT current_user, count(*) > 0 FROM request', '-c', shows);
    expect(asked.lines).toContain(`${new URL(url).username}|f`);
    expect(asked.lines).toContain('600');
    expect(asked.lines.join('\n')).toContain('--dbname=');
    if (password !== '') expect(asked.lines.join('\n')).not.toContain(password);
    expect(asked.child.exitCode).toBe(0);
    expect((await psql(url, '--', '-v', 'ON_ERROR_STOP=1', '-c', 'SELECT nothing')).child.exitCode).toBe(1);
  });

  test('--reports opens it as a user who reads the views and nothing else', async () => {
    const url = await database();
    const ask = async (sql: string): Promise<string> =>
      (await psql(url, '--reports', '--', '-At', '-c', sql)).lines.join('\n');
    expect(await ask('SELECT usename, usesuper, usecreatedb FROM pg_user WHERE usename = current_user')).toBe(
      'muster_reports|f|f',
    );
    const views = ['v_task_outcome', 'v_deploy_outcome', 'v_request_change', 'v_audit', 'v_next_run', 'v_waiting_task'];
    expect(await ask(views.map((view) => `SELECT count(*) FROM ${view}`).join(' UNION ALL '))).toBe(
      views.map(() => '0').join('\n'),
    );
    for (const sql of ['TABLE auth_token', 'TABLE request', 'TABLE task_history', 'DELETE FROM v_audit'])
      expect(await ask(sql)).toMatch(/permission denied|read-only transaction/);
    expect(await ask('SET TRANSACTION READ WRITE; CREATE TABLE mine (a int)')).toContain('permission denied');
    expect(await ask("COPY (SELECT 1) TO PROGRAM 'id'")).toContain('permission denied');
  });
});

describe('muster token --bootstrap with the embedded database', () => {
  const secured = (dataDir: string): Record<string, string> => {
    const config = join(dataDir, 'settings.json');
    writeFileSync(config, JSON.stringify({ auth: { enabled: true } }));
    return { MUSTER_DATA_DIR: dataDir, MUSTER_CONFIG: config };
  };
  async function makeToken(env: Record<string, string>): Promise<string> {
    const process = muster(['token', '--bootstrap'], env);
    expect(await exitCode(process)).toBe(0);
    expect(process.lines).toContain("Token of the administrator 'admin', shown only now:");
    return process.lines.find((line) => line.startsWith('muster_'))!;
  }
  async function statusFor(api: string, token: string): Promise<number> {
    return (await fetch(`${api}/disasters/stats`, { headers: { authorization: `Token ${token}` } })).status;
  }

  test('before the first start: the database is made and stopped again, and the token opens what is started then', async () => {
    const env = secured(folder());
    const token = await makeToken(env);
    expect(pidsMentioning(env['MUSTER_DATA_DIR']!)).toEqual([]);
    const running = muster(alone, env);
    const api = await running.line('  API         ');
    await running.line('Muster is ready');
    expect(await statusFor(api, token)).toBe(200);
    expect(await statusFor(api, 'another')).toBe(401);
    running.child.kill('SIGTERM');
    expect(await exitCode(running)).toBe(0);
  });

  test('beside a Muster that runs: its database stays, and the token opens it at once', async () => {
    const env = secured(folder());
    const running = muster(alone, env);
    const api = await running.line('  API         ');
    await running.line('Muster is ready');
    const token = await makeToken(env);
    expect(await statusFor(api, token)).toBe(200);
    running.child.kill('SIGTERM');
    expect(await exitCode(running)).toBe(0);
  });
});

describe('muster stop', () => {
  test('stops in order what runs on the data directory', async () => {
    const dataDir = folder();
    const running = muster(alone, { MUSTER_DATA_DIR: dataDir });
    await running.line('Muster is ready');
    const stop = muster(['stop'], { MUSTER_DATA_DIR: dataDir });
    expect(await exitCode(stop)).toBe(0);
    expect(stop.lines).toEqual([`Stopping process ${running.pid}`, 'Stopped']);
    expect(await exitCode(running)).toBe(0);
  });

  test('is a line of the start that can be pasted anywhere, as is the address of the page', async () => {
    const dataDir = join(folder(), "it's a folder");
    const running = muster(['start'], { MUSTER_DATA_DIR: dataDir });
    const page = (await running.line('  Dashboard ', 60_000)).trim();
    expect(await (await fetch(page)).text()).toContain('<title>');
    const line = (await running.line('  Stop ')).replace(/^.* or: /, '').trim();
    const env = { PATH: process.env['PATH'] };
    const pasted = spawnSync('sh', ['-c', line], { cwd: '/', env, encoding: 'utf8' });
    expect([pasted.status, pasted.stderr]).toEqual([0, '']);
    expect(await exitCode(running)).toBe(0);
  }, 90_000);

  test('says so when nothing runs', async () => {
    const stop = muster(['stop']);
    expect(await exitCode(stop)).toBe(0);
    expect(stop.lines[0]).toMatch(/^Muster does not run on /);
  });
});

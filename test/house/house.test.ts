import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../support/temp-folder.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const users = 'src/modules/users/users.service.ts';

/** `npm run house -- --check` on a room of ours and on copies of its service, each with one method more. */
function check(methods: Record<string, string>) {
  const service = readFileSync(join(project, users), 'utf8');
  const copies = Object.entries(methods).map(([path, body]) => [
    path,
    `${service}class More {\n  async look(tx: Transaction) {\n    ${body}\n  }\n}\n`,
  ]);
  return { ...checkFiles(Object.fromEntries(copies)), line: service.split('\n').length + 2 };
}

/** Runs the check on these files. */
function checkFiles(files: Record<string, string>, options = ['--check']) {
  const { path: root, remove } = tempFolder();
  onTestFinished(remove);
  cpSync(join(project, 'src/modules/users'), join(root, 'src/modules/users'), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const args = ['scripts/house.mjs', ...options, '--root', root];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  return { status, stdout };
}

test('a statement or a call of TypeORM in a service is refused, with its place', () => {
  const bodies = [
    "return rows(tx, 'SELECT * FROM user_settings');",
    'const sql = `DELETE FROM mail_blacklist\n WHERE address = $1`; return sql;',
    "return `${'x'} WHERE user_id = $1 ORDER BY user_id`;",
    "return 'WITH gone AS (SELECT 1) TABLE gone';",
    'return tx.query(elsewhere);',
    'return tx.getRepository(UserSettingsEntity).findOneBy({ userId });',
    'return this.source.createQueryBuilder();',
    'return tx.findOne(UserSettingsEntity, { where: { userId } });',
  ];
  const path = (index: number) => `src/modules/users/forbidden-${index}.service.ts`;
  const { status, stdout, line } = check(Object.fromEntries(bodies.map((body, index) => [path(index), body])));
  expect(status).toBe(1);
  for (const [index, body] of bodies.entries()) {
    expect(stdout, body).toMatch(new RegExp(`SQL outside of a repository: ${path(index)}\n +${line}  `));
  }
  expect(stdout).toContain(`${bodies.length} files with SQL outside of repositories`);
});

test('a table that a second room writes is refused, however it is written', () => {
  const bodies: Record<string, string> = {
    sql: "return rows(tx, 'INSERT INTO user_settings (user_id) VALUES ($1)');",
    repository: 'return tx.getRepository(UserSettingsEntity).upsert({}, []);',
    builder: 'return tx.getRepository(UserSettingsEntity).createQueryBuilder().delete().execute();',
    manager: 'return tx.delete(UserSettingsEntity, {});',
    name: "const table = 'user_settings'; return tx.query(`DELETE FROM ${table}`);",
  };
  const repositories = Object.entries(bodies).map(([room, body]) => [
    `src/modules/${room}/${room}.repository.ts`,
    body,
  ]);
  const { status, stdout } = check(Object.fromEntries(repositories));
  expect(status).toBe(1);
  expect(stdout).toContain('table with 6 owners: user_settings: users (');
  for (const room of Object.keys(bodies)) expect(stdout).toContain(`; ${room} (${room}.repository.ts)`);
});

test('prose, collections and reads of the tables of another room are accepted', () => {
  const { stdout, status } = check({
    'src/modules/users/comment.service.ts': '// SELECT * FROM user_settings would be slow, DELETE FROM it as well.',
    'src/modules/users/message.service.ts':
      "throw new Error('Cannot select from or update where nothing is set; delete from the list first');",
    'src/modules/users/map.service.ts': 'this.map.delete(1); return [1].find(Boolean);',
    'src/modules/tasks/task.repository.ts':
      'return [tx.getRepository(UserSettingsEntity).find(), tx.query(`SELECT 1 FROM user_settings`)];',
  });
  expect(stdout).toMatch(/^Every row has one home: 3 tables/);
  expect(status).toBe(0);
});

test('a circle of files is refused by the names of its files, also where only types are imported', () => {
  const { path: root, remove } = tempFolder();
  onTestFinished(remove);
  const files: Record<string, string> = {
    'src/core/a.ts': "import type { B } from './b.js';\nexport interface A {\n  b: B;\n}\n",
    'src/core/b.ts': "export type { C as B } from './inner/c.js';\n",
    'src/core/inner/c.ts': "export interface C {\n  a: import('../a.js').A;\n}\n",
    'src/core/user.ts': "import type { A } from './a.js';\nexport type User = A;\n",
    'packages/rest-contract/src/index.ts': "import { one } from './one.js';\nexport const two = one;\n",
    'packages/rest-contract/src/one.ts': "import { two } from './index.js';\nexport const one = two;\n",
    'src/core/a.test.ts': "import './b.test.js';\n",
    'src/core/b.test.ts': "import './a.test.js';\n",
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  const args = ['scripts/house.mjs', '--check', '--root', root];
  const run = () => spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  const refused = run();
  expect(refused.status).toBe(1);
  expect(refused.stdout.match(/^circle of .*$/gm)).toEqual([
    'circle of 3 files: src/core/a.ts, src/core/b.ts, src/core/inner/c.ts',
    'circle of 2 files: packages/rest-contract/src/index.ts, packages/rest-contract/src/one.ts',
  ]);
  write('src/core/inner/c.ts', 'export type C = string;\n');
  write('packages/rest-contract/src/one.ts', 'export const one = 1;\n');
  expect(run()).toMatchObject({ status: 0, stdout: expect.not.stringContaining('circle') as string });
});

test('the clock of a machine is read by the clock and by processes without a database only', () => {
  const bodies = [
    'return Date.now();',
    'return (this.now ?? Date.now)();',
    'return new Date().getTime();',
    'return performance.timeOrigin;',
  ];
  const path = (index: number) => `src/modules/users/clock-${index}.service.ts`;
  const { status, stdout, line } = check(Object.fromEntries(bodies.map((body, index) => [path(index), body])));
  expect(status).toBe(1);
  for (const index of bodies.keys())
    expect(stdout).toContain(`The clock of this machine is read: ${path(index)}:${line}`);
  const allowed = check({
    'src/agent/clock.ts': 'return Date.now();',
    'src/modules/users/date.service.ts': 'return [new Date(5), performance.now()];',
  });
  expect(allowed).toMatchObject({ status: 0 });
});

test('an object of a library is changed, cast and read as the library documents only', () => {
  const bodies = [
    "import { createServer } from 'node:http'; const server = createServer(); Object.assign(server, { requireHostHeader: false });",
    "import type { Response } from 'express'; const f = (response: Response) => { response.end = () => response; };",
    "import { Client } from 'pg'; const hidden = new Client()._queryable;",
    "import type { Pool } from 'pg'; const poolOf = (driver: object) => driver as unknown as Pool;",
    "import type { Request } from 'express'; const place = Symbol('place'); const f = (call: Request) => (call as Placed)[place];",
    "const routes = '__routeArguments__'; export const f = (of: object) => Reflect.getMetadata(routes, of);",
    "import Query from 'pg/lib/query.js'; new Query();",
    "import type { DataSource } from 'typeorm'; class A { constructor(private readonly db: DataSource) {} f() { Object.defineProperty(this.db, 'manager', {}); } }",
    "export const f = (socket: EventEmitter) => socket.removeAllListeners('data');",
  ];
  const own = [
    "import { parse } from './parse.js'; const found = parse(); Object.assign(found, { at: 1 });",
    "import type { Request } from '../model.js'; export const f = (sent: object) => sent as unknown as Request;",
    "throw Object.assign(new Error('no'), { code: 'ENOENT' });",
    "import type { Response } from 'express'; export const f = (response: Response) => response.status(200).end();",
  ];
  const path = (index: number) => `src/platform/http/reach-${index}.ts`;
  const { status, stdout } = checkFiles(Object.fromEntries(bodies.map((body, index) => [path(index), body])));
  expect(status).toBe(1);
  for (const [index, body] of bodies.entries()) expect(stdout, body).toContain(`is reached into: ${path(index)}:1`);
  const accepted = checkFiles(Object.fromEntries(own.map((body, index) => [path(index), body])));
  expect(accepted).toMatchObject({ status: 0 });
});

test('a reason is one for a single place of its file', () => {
  const once = 'const layers = express.router.stack as unknown as Layer[];';
  const text = (...lines: string[]) => ["import express from 'express';", ...lines].join('\n');
  const path = 'src/platform/http/error.filter.ts';
  expect(checkFiles({ [path]: text(once) })).toMatchObject({ status: 0 });
  const twice = checkFiles({ [path]: text(once, once) });
  expect(twice.status).toBe(1);
  expect(twice.stdout).toContain(`is reached into: ${path}:3`);
});

test('comments without a subject, bare participles and names with several meanings are counted', () => {
  const files = {
    'src/core/a.ts': '/** What a task needs. */\nexport interface Held {}\n/** A slot. */\nexport type Slot = 1;\n',
    'src/core/b.ts': '/** Name of a task. */\nexport type Slot = 2;\nexport interface HeldTasks {}\n',
  };
  const { stdout } = checkFiles(files, []);
  expect(stdout).toMatch(/^ {2}src\/core: 1 of 3$/m);
  expect(stdout).toMatch(/^types named by a bare participle +1$/m);
  expect(stdout).toContain('Held: src/core/a.ts');
  expect(stdout).toMatch(/^exported type names with several meanings +1$/m);
  expect(stdout).toContain('Slot: src/core/a.ts, src/core/b.ts');
});

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

// The package as its users get it: packed, installed into an empty project without a network, compiled and run.

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);
const tsc = require.resolve('typescript/bin/tsc');
const temp = realpathSync(mkdtempSync(join(tmpdir(), 'rc-')));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

let tarball = '';
beforeAll(() => {
  const staging = join(temp, 'staging');
  mkdirSync(staging);
  for (const entry of ['package.json', 'README.md', 'docs', 'examples'])
    cpSync(join(root, entry), join(staging, entry), { recursive: true });
  // Not into the package's own dist: others may be importing it.
  run(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json'), '--outDir', join(staging, 'dist')], root);
  run('npm', ['pack', '--ignore-scripts', '--pack-destination', temp], staging);
  tarball = join(temp, readdirSync(temp).find((file) => file.endsWith('.tgz')) ?? '');
}, 180_000);

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function emptyProject(name: string, files: Record<string, string>, links: readonly string[] = []): string {
  const project = join(temp, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  // A cache of its own: npm looks up even optional peers in the cache of the machine, whatever is in there.
  const cache = `--cache=${join(temp, 'npm-cache')}`;
  run('npm', ['install', '--offline', cache, '--no-audit', '--no-fund', '--loglevel=error', tarball], project);
  for (const link of links) {
    mkdirSync(dirname(join(project, 'node_modules', link)), { recursive: true });
    symlinkSync(dirname(require.resolve(`${link}/package.json`)), join(project, 'node_modules', link));
  }
  for (const [file, content] of Object.entries(files)) writeFileSync(join(project, file), content);
  return project;
}

test('brings no dependency along, and only what it needs', () => {
  const project = emptyProject('bare', {});
  expect(readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['rest-contract']);
  const installed = join(project, 'node_modules', 'rest-contract');
  expect(readdirSync(installed).sort()).toEqual(['README.md', 'dist', 'docs', 'examples', 'package.json']);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies?: object;
  };
  expect(dependencies).toBeUndefined();
}, 180_000);

const script = `
  import { createServer } from 'node:http';
  import { connect, contract, get, post, path, serve } from 'rest-contract';
  import { fetchBackend } from 'rest-contract/fetch';
  import { nodeListener } from 'rest-contract/node';
  import { inMemory } from 'rest-contract/memory';
  import { openapi } from 'rest-contract/openapi';
  import { task } from 'rest-contract/task';

  // Any Standard Schema will do, one written by hand too.
  const text = { '~standard': { version: 1, vendor: 'mine', validate: (value) => (typeof value === 'string' ? { value } : { issues: [{ message: 'no text' }] }) } };
  const Api = contract('Api', { greet: get({ name: path(text) }, text), join: post({ a: text, b: text }, text) });
  const service = { greet: async ({ name }) => 'Hello ' + name, join: async ({ a, b }) => a + b };
  const server = createServer(nodeListener(serve(Api, service))).listen(0, '127.0.0.1', async () => {
    const client = connect(Api, fetchBackend('http://127.0.0.1:' + server.address().port));
    console.log(await client.greet({ name: 'a/b' }), await client.join({ a: 'x', b: 'y' }));
    console.log(await client.join({ a: 'x', b: 5 }).catch((error) => error.status + ' ' + error.message));
    console.log(await inMemory(Api, service).greet({ name: 'near' }), await connect(Api, serve(Api, service), { wrapper: task }).greet({ name: 'lazy' })(), typeof openapi);
    server.close();
    server.closeAllConnections();
  });
`;
const printed =
  "Hello a/b xy\n400 The body field 'b' of operation 'Api.join' is not readable: no text\nHello near Hello lazy function\n";

test('works in an empty JavaScript project', () => {
  const project = emptyProject('javascript', { 'main.js': script });
  expect(run(process.execPath, ['main.js'], project)).toBe(printed);
}, 180_000);

const typed = `
  import { z } from 'zod';
  import { type Args, connect, contract, field, get, path, post, serve, type Service } from 'rest-contract';
  import { inMemory } from 'rest-contract/memory';
  import { openapi } from 'rest-contract/openapi';
  import { fetchBackend } from 'rest-contract/fetch';
  import { zodCodecs } from 'rest-contract/zod';

  const User = z.object({ id: z.string(), born: z.date() });
  export const Api = contract('Api', { read: get({ id: path(z.string()) }, User), add: post({ user: User }, z.int()) }, { codecs: zodCodecs });
  class Users implements Service<typeof Api> {
    async read({ id }: Args<typeof Api, 'read'>) { return { id, born: new Date(0) }; }
    async add({ user }: Args<typeof Api, 'add'>) { return user.born.getTime(); }
  }
  const client = inMemory(Api, new Users());
  const user: { id: string; born: Date } = await client.read({ id: 'u' });
  console.log(user.born.toISOString(), await client.add({ user }), openapi(Api, { info: { title: 't', version: '1' } }).openapi);
  export const far = connect(Api, fetchBackend('http://localhost'));
  export const handle = serve(Api, new Users());
  // @ts-expect-error the argument is missing
  void (() => client.read());
  // @ts-expect-error GET takes no body
  void (() => get({ x: field(z.string()) }, User));
`;
const compilerOptions = {
  target: 'ES2022',
  module: 'NodeNext',
  strict: true,
  outDir: 'out',
  declaration: true,
  types: [],
  lib: ['ES2022', 'DOM', 'DOM.AsyncIterable'],
};

test('works in an empty TypeScript project, checked to the last declaration', () => {
  const files = { 'main.ts': typed, 'tsconfig.json': JSON.stringify({ compilerOptions, files: ['main.ts'] }) };
  const project = emptyProject('typescript', files, ['zod']);
  run(process.execPath, [tsc, '-p', project], project);
  expect(run(process.execPath, ['out/main.js'], project)).toBe('1970-01-01T00:00:00.000Z 0 3.0.3\n');
}, 180_000);

test('the declarations of every entry point hold, adapters included', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>;
  };
  const entries = Object.keys(exports).filter((entry) => entry !== './package.json');
  const source = entries
    .map((entry, index) => `export * as e${index} from 'rest-contract${entry.slice(1)}';`)
    .join('\n');
  const options = { ...compilerOptions, types: ['node'], lib: ['ES2023'], skipLibCheck: true };
  const files = {
    'main.ts': `${source}\nimport type { WrapperOf } from 'rest-contract';\nexport const sum: WrapperOf<number, 'task'> = async () => 1;`,
    'tsconfig.json': JSON.stringify({ compilerOptions: options, files: ['main.ts'] }),
  };
  const project = emptyProject('entries', files, ['zod', 'rxjs', '@types/node', '@nestjs/common', '@nestjs/core']);
  run(process.execPath, [tsc, '-p', project], project);
  expect(entries.length).toBe(11);
}, 180_000);

test('can be required from CommonJS, every entry point of it', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object };
  const entries = Object.keys(exports).filter((entry) => !/json$|nest|rxjs|zod/.test(entry));
  const names = entries.map((entry) => `rest-contract${entry.slice(1)}`);
  const lines = names.map((name) => `require(${JSON.stringify(name)});`);
  const main = `${lines.join('\n')}\nconst { contract } = require('rest-contract');\nconsole.log(contract('Api', {}).name);`;
  const project = emptyProject('commonjs', { 'main.cjs': main });
  expect(run(process.execPath, ['--no-warnings', 'main.cjs'], project)).toBe('Api\n');
}, 180_000);

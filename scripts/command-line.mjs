// Makes the file that bin/muster.mjs runs, out of the commands' sources: node scripts/command-line.mjs <folder of the build>
// Modules one by one would take most of the time that a command takes. What servers are made of stands beside it (servers.mjs), and so
// do the libraries that few commands use: both are loaded by those that need them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Script } from 'node:vm';
import { build } from 'esbuild';
import { bundleServers } from './servers.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = resolve(process.argv[2]);
const sources = join(root, 'src');
const commands = join(sources, 'cli');
const migrate = join(root, 'packages', 'migrate', 'src');
const target = join(folder, 'cli');
const outfile = join(target, 'commands.cjs');

const isWithin = (parent, path) => path.startsWith(parent + sep);
const shared = [
  'core/content-id',
  'core/did-you-mean',
  'core/other-names',
  'core/terminal-text',
  'platform/addresses',
].map((name) => join(sources, `${name}.js`));
const staysOutside = (path) =>
  isWithin(migrate, path)
    ? path !== join(migrate, 'commands.js')
    : (!isWithin(commands, path) && !shared.includes(path)) || isWithin(join(commands, 'server'), path);
const isOurs = (path) => isWithin(sources, path) || isWithin(migrate, path);

/** Compiled modules, and the place of each in the bundles. */
const servers = new Map();
const { outputFiles } = await build({
  write: false,
  entryPoints: [join(sources, 'main.ts')],
  outfile,
  tsconfig: join(root, 'tsconfig.build.json'),
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.19',
  sourcemap: true,
  // A function of what differs from place to place, so that the text is the same wherever it lies.
  banner: { js: '(function (require, $import, $url) {' },
  footer: { js: '})' },
  define: { 'import.meta.url': '$url' },
  external: ['ajv', 'cli-table3', 'log-update', 'open', 'ora', 'reflect-metadata', 'yaml'],
  plugins: [
    {
      name: 'servers-stay-outside',
      setup: ({ onResolve }) =>
        onResolve({ filter: /^\./ }, ({ resolveDir, path, kind }) => {
          const file = resolve(resolveDir, path);
          if (kind === 'entry-point' || !isOurs(file) || !staysOutside(file)) return undefined;
          const place = isWithin(migrate, file) ? join('migrate', relative(migrate, file)) : relative(sources, file);
          servers.set(join(folder, relative(root, file)), place);
          return { path: relative(target, join(folder, 'servers', place)).replaceAll(sep, '/'), external: true };
        }),
    },
  ],
});

await bundleServers(folder, servers);

mkdirSync(target, { recursive: true });
// Of a text that V8 has compiled before, Node.js does not know where its `import()` would look: so it is told.
const asked = (text) => text.replaceAll(/\bimport\((?=")/g, '$import(');
for (const { path, text } of outputFiles) writeFileSync(path, path === outfile ? asked(text) : text);

// What V8 makes of a function is kept when the function has run, so the ways of every day are gone here.
const server = createServer((request, response) => {
  const isRecord = request.method === 'POST' || /\/(track|tasks\/active\/states)/.test(request.url);
  const end = { currentState: 'TASK_FINISHED', taskHistory: [], request: {} };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(isRecord ? end : []));
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${server.address().port}`;
const script = new Script(readFileSync(outfile, 'utf8'), { filename: outfile });
const begin = script.runInThisContext();
for (const words of [
  ['ps', '--help'],
  ['ps', '--url', url],
  ['run', 'job', '--url', url],
]) {
  await new Promise((ended) => {
    process.exit = ended;
    process.argv.splice(2, Infinity, ...words);
    begin(createRequire(outfile), (name) => import(name), pathToFileURL(outfile).href);
  });
}
writeFileSync(join(target, 'commands.v8'), script.createCachedData());
server.close();
server.closeAllConnections();

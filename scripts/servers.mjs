import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Puts the servers of a build into `servers`, each at its place in `src`, or at that of `modules`, with its libraries in a few files: to find and compile 3,500
 * modules one by one took most of the CPU of a start. `src` stays as the compiler made it, for whoever loads a module alone.
 */
export async function bundleServers(folder, modules) {
  const [sources, target] = ['src', 'servers'].map((name) => join(folder, name));
  const compiled = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((name) => existsSync(join(sources, `${name}.map`)))
    .map((name) => join(sources, name));
  const programs = compiled.filter((path) => isProgram.test(slashes(path)));
  const later = compiled.flatMap(loadedLater);
  // As it is for the compiler: packages of ours are those that are built.
  const tsconfig = fileURLToPath(new URL('../tsconfig.build.json', import.meta.url));
  const places = new Map([...[...programs, ...later].map((path) => [path, relative(sources, path)]), ...modules]);
  const entryPoints = [...places].map(([path, place]) => ({ in: path, out: place.replace(/\.js$/, '') }));
  await bundlePrograms({ sources, target, entryPoints, tsconfig });
  // What a server reads, or runs as a thread, lies beside it: what the compiler did not make.
  const isCompiled = (path) => path.endsWith('.map') || existsSync(`${path}.map`);
  cpSync(sources, target, { recursive: true, filter: (path) => statSync(path).isDirectory() || !isCompiled(path) });
}

/** Modules that are started as processes, or loaded by one at its start. */
const isProgram = /\/agent\/(.*[/-])?main\.js$|\/cli\/server\/workers\/(worker|api-server)\.js$/;

/** Under a name that the next build has, too: a process that was started before finds them. */
const loadedLater = (path) =>
  [...readFileSync(path, 'utf8').matchAll(/\bimport\('(\.{1,2}\/[^']+)'\)/g)].map(([, name]) =>
    join(dirname(path), name),
  );

/** Puts bundles of the modules `entryPoints` below `sources` into `target`, at the same places. `more`: options of esbuild. */
export async function bundlePrograms({ sources, target, plugins = [], ...more }) {
  const { outputFiles } = await build({
    ...more,
    outbase: sources,
    outdir: target,
    chunkNames: 'chunks/[hash]',
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: false,
    // Tables, schemas and lines of the log are named after classes.
    keepNames: true,
    banner: {
      js: `import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);`,
    },
    plugins: [...plugins, ownPlaces(sources), outsiders],
    logLevel: 'error',
  });
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text.replaceAll(placeholder, `${slashes(relative(dirname(path), target)) || '.'}/`));
  }
}

const slashes = (path) => path.replaceAll(sep, '/');

/** Stands for the way from a file of the bundles to the folder of all of them. */
const placeholder = '$servers/';

/** A module finds files from its own place, whichever file of the bundles it is in. */
const ownPlaces = (sources) => ({
  name: 'own-places',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.[jt]s$/ }, ({ path }) => {
      if (!path.startsWith(sources + sep)) return undefined;
      const text = readFileSync(path, 'utf8');
      if (!text.includes('import.meta.url')) return undefined;
      const place = `new URL(${JSON.stringify(placeholder + slashes(relative(sources, path)))}, import.meta.url).href`;
      return { contents: text.replaceAll('import.meta.url', place), loader: path.endsWith('.ts') ? 'ts' : 'js' };
    }),
});

/**
 * Loaded by their names: TypeORM looks for the driver when it runs, and a bundled one would be another, with parsers of its own; the
 * metadata of decorators have to be there before the first class, and a bundled CommonJS module runs after the modules beside it.
 */
const byName = ['pg', 'reflect-metadata'];

/**
 * Plugin that leaves out those, packages that are loaded when they are needed, and packages that Nest and TypeORM look
 * for and go on without.
 */
const outsiders = {
  name: 'outsiders',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === outsiders || kind === 'entry-point') return undefined;
      if (kind === 'dynamic-import' || byName.includes(path)) return { path, external: true };
      const { errors } = await resolve(path, { kind, importer, resolveDir, pluginData: outsiders });
      return errors.length > 0 ? { path, external: true } : undefined;
    }),
};

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * `node scripts/dependencies.mjs` writes docs/internals/dependencies.md: what the root and the packages depend on, with the reasons of
 * scripts/dependencies.json. When the locked version was released is asked of its own list of changes, then of the registry, once: a
 * date stands in the page from then on. `--offline` asks no registry.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const page = join(root, 'docs', 'internals', 'dependencies.md');
const read = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** @returns {{ name: string, version: string, isOfProgram: boolean }[]} by name, workspaces aside */
export function directDependencies() {
  const { packages } = read('package-lock.json');
  const folders = ['', ...Object.keys(packages).filter((path) => /^packages\/[^/]+$/.test(path))];
  const found = new Map();
  for (const folder of folders) {
    const { dependencies = {}, devDependencies = {}, peerDependencies = {} } = read(join(folder, 'package.json'));
    const ofProgram = { ...dependencies, ...peerDependencies };
    for (const name of Object.keys({ ...ofProgram, ...devDependencies })) {
      const locked = packages[join(folder, 'node_modules', name)] ?? packages[`node_modules/${name}`];
      if (locked === undefined || locked.link) continue;
      const isOfProgram = Object.hasOwn(ofProgram, name) || found.get(name)?.isOfProgram === true;
      found.set(name, { name, version: locked.version, isOfProgram });
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @returns {Record<string, { why: string, stays?: string }>} `stays`: why, though it is released rarely or not at all */
export const reasons = () => read('scripts/dependencies.json');

/** Rows of the page as it is: version and date by name. */
export function pageRows(text = existsSync(page) ? readFileSync(page, 'utf8') : '') {
  const rows = text.matchAll(/^\| `([^`]+)` +\| (\S+) +\| (\S+) +\| (.+?) +\|$/gm);
  return new Map([...rows].map(([, name, version, released, why]) => [name, { version, released, why }]));
}

const unknown = '–';

function releasedAt({ name, version }, isOffline) {
  const known = pageRows().get(name);
  if (known?.version === version && known.released !== unknown) return known.released;
  return ofChanges(name, version) ?? (isOffline ? undefined : ofRegistry(name, version)) ?? unknown;
}

/** Many packages come with a list of their changes. */
function ofChanges(name, version) {
  const folder = join(root, 'node_modules', name);
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => /^(change|history)[^.]*\.(md|txt)$/i.test(file))
    : [];
  for (const file of files) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    const at = lines.findIndex(
      (line) => /^#|^\d/.test(line) && line.split(/[^\w.+-]/).some((word) => word.replace(/^v/, '') === version),
    );
    const date = at < 0 ? undefined : /\d{4}-\d{2}-\d{2}/.exec(lines.slice(at, at + 3).join(' '));
    if (date) return date[0];
  }
  return undefined;
}

/** A registry that is a copy may list a version later than its maker released it, never earlier. */
function ofRegistry(name, version) {
  const args = ['view', '--json', '--', name, 'time'];
  const times = JSON.parse(execFileSync('npm', args, { encoding: 'utf8', shell: process.platform === 'win32' }));
  return times[version]?.slice(0, 10);
}

function table(rows, given) {
  const lines = rows.map(({ name, version, released }) => {
    const { why, stays } = given[name] ?? {};
    if (why === undefined) throw new Error(`scripts/dependencies.json does not say why there is ${name}`);
    return `| \`${name}\` | ${version} | ${released} | ${stays === undefined ? why : `${why}. Stays: ${stays}`} |`;
  });
  return ['| package | version | released by | why |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

export function write({ isOffline = false } = {}) {
  const rows = directDependencies().map((one) => ({ ...one, released: releasedAt(one, isOffline) }));
  const given = reasons();
  const text = [
    '# Dependencies',
    `The direct dependencies of the program and its packages. \`node scripts/dependencies.mjs\` writes this page from the lockfile and the reasons in
[scripts/dependencies.json](../../scripts/dependencies.json). \`released by\` is the date in the package's own list of changes, or else the day on which the registry listed the version, which may be later.
A package without a release for two years is replaced, or has a reason to stay. \`npm ci\` runs no script of any of them
(\`.npmrc\`).`,
    '## Program',
    table(
      rows.filter(({ isOfProgram }) => isOfProgram),
      given,
    ),
    '## Builds, tests and benchmarks',
    table(
      rows.filter(({ isOfProgram }) => !isOfProgram),
      given,
    ),
    '',
  ];
  writeFileSync(page, text.join('\n\n'));
  execFileSync(process.execPath, [
    join(root, 'node_modules', 'prettier', 'bin', 'prettier.cjs'),
    '--write',
    '--log-level=warn',
    page,
  ]);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  write({ isOffline: process.argv.includes('--offline') });

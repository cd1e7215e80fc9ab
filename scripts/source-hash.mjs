import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The packages of ours that the program imports by name, those first that others are built on. */
export const packages = ['rest-contract', 'client'];

/** The package that the program serves: no change of it has the program built anew, nor the other way round. */
export const dashboard = 'dashboard';

/** The documentation as pages: of what is written, and of nothing else of ours. */
export const guide = 'guide';
const written = ['docs', 'examples', 'deploy', 'schemas', 'docker-compose.yml', 'Dockerfile'];
/** Pages of the guide that stand neither in docs/ nor in examples/. */
export const furtherPages = [
  'README.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...['client', 'migrate', 'rest-contract'].map((name) => `packages/${name}/README.md`),
];

/** Directory of what a build makes of others: it is no source. */
const generated = 'packages/client/src/generated';

const sourcesOf = (name) =>
  ['src', 'scripts', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'vite.config.ts'].map(
    (path) => `packages/${name}/${path}`,
  );
const settings = ['nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];
const programs = ['command-line', 'openapi-document', 'servers'].map((name) => `scripts/${name}.mjs`);
const sources = ['src', 'migrations', 'packages/migrate/src', ...programs, ...settings];

/** Changes with anything the build reads. */
export const hashOfSources = (root) => hashOf(root, [...sources, ...packages.flatMap(sourcesOf)]);

/** Hash of one of our packages, which stands on those before it; the client on the OpenAPI document as well. */
export const hashOfPackage = (root, name, document = '') =>
  hashOf(root, [...materialOf(name), 'package-lock.json'], document);

function materialOf(name) {
  if (name === guide) return [...sourcesOf(guide), ...written, ...furtherPages];
  const below = name === dashboard ? [...packages, dashboard] : packages.slice(0, packages.indexOf(name) + 1);
  return below.flatMap(sourcesOf);
}

function hashOf(root, paths, document = '') {
  const hash = createHash('sha256').update(document);
  for (const path of paths.flatMap((source) => filesOf(root, source))) {
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0');
  }
  return hash.digest('hex');
}

function filesOf(root, path) {
  if (path === generated || !existsSync(join(root, path))) return [];
  if (!statSync(join(root, path)).isDirectory()) return /\.test\.tsx?$/.test(path) ? [] : [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesOf(root, join(path, name)));
}

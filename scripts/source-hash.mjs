import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const restContract = 'packages/rest-contract';
const sourcesOfRestContract = ['src', 'scripts/build.mjs', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].map(
  (path) => `${restContract}/${path}`,
);
const sources = ['src', 'migrations', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Changes with anything the build reads. */
export const hashOfSources = (root) => hashOf(root, [...sources, ...sourcesOfRestContract]);

/** The same for the package that the program imports by name. */
export const hashOfRestContract = (root) => hashOf(root, [...sourcesOfRestContract, 'package-lock.json']);

function hashOf(root, paths) {
  const hash = createHash('sha256');
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
  if (!existsSync(join(root, path))) return [];
  if (/\.\w+$/.test(path)) return path.endsWith('.test.ts') ? [] : [path];
  return readdirSync(join(root, path))
    .sort()
    .flatMap((name) => filesOf(root, join(path, name)));
}

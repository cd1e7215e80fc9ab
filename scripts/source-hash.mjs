import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const sources = ['src', 'migrations', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Changes with anything the build reads. */
export function hashOfSources(root) {
  const hash = createHash('sha256');
  for (const path of sources.flatMap((source) => filesOf(root, source))) {
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

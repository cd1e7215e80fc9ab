import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const project = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, project), 'utf8');

/** `src/modules/tasks task`, of each entity. */
const declared = ['src', 'packages/migrate/src']
  .flatMap((folder) =>
    readdirSync(new URL(folder, project), { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`),
  )
  .filter((path) => path.endsWith('.entity.ts'))
  .flatMap((path) => {
    const [owner] = /^(packages\/[^/]+|src\/(modules\/[^/]+|platform\/[^/]+|[^/]+))/.exec(path)!;
    return [...read(path).matchAll(/@Entity\('(\w+)'/g)].map(([, table]) => `${owner} ${table}`);
  });

test('ARCHITECTURE.md names the owner of each table', () => {
  const [, list = ''] = read('ARCHITECTURE.md').split('Owner of each table:\n');
  const entries = [...list.matchAll(/^- `((?:src|packages)\/[^`]+)`: ((?:`\w+`[,\s]*)+)/gm)];
  const named = entries.flatMap(([, owner, tables]) =>
    [...tables!.matchAll(/\w+/g)].map(([table]) => `${owner} ${table}`),
  );
  expect(named.toSorted()).toEqual(declared.toSorted());
});

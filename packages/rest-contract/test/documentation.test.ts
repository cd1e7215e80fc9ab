import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/** Number of rules in each part of the definition. */
const PARTS: Record<string, number> = {
  Operations: 5,
  Parameters: 8,
  Prefixes: 4,
  Defaults: 2,
  Backends: 2,
  Documents: 5,
  Errors: 4,
  Versioning: 9,
};

const rows = readme
  .slice(readme.search(/^\| rule +\| says/m))
  .split('\n')
  .slice(2)
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

test('the first program of the page is the first example, whole', () => {
  const [, program = ''] = /```ts\n([^]*?)```/.exec(readme) ?? [];
  expect(readFileSync(join(root, 'examples', '01-first-steps.ts'), 'utf8')).toContain(program);
  expect(program).toContain('import ');
});

test.each(rows.map(([, rule, , where]) => [rule ?? '', where ?? '']))(
  'rule "%s" is shown by a test that exists',
  (_rule, where) => {
    const [file = '', ...title] = where.split(': ');
    const source = readFileSync(join(root, 'test', file), 'utf8');
    const name = title.join(': ');
    expect(
      ["'", '"', '`'].some((quote) => source.includes(`${quote}${name}${quote}`)),
      where,
    ).toBe(true);
  },
);

test('no rule is missing', () => {
  const rules = new Set(rows.map(([, rule]) => rule));
  for (const [part, count] of Object.entries(PARTS)) {
    for (let number = 1; number <= count; number += 1)
      expect(rules, 'rules of the table').toContain(`${part} ${number}`);
  }
  expect([...rules].filter((rule) => rule?.startsWith('Raw:'))).toHaveLength(7);
  expect([...rules].filter((rule) => rule?.startsWith('Kinds:'))).toHaveLength(5);
});

test('links lead somewhere', () => {
  for (const [, target = ''] of readme.matchAll(/\]\(([^)#]+)\)/g))
    expect(existsSync(join(root, target)), target).toBe(true);
});

test('the API page is what the sources say', () => {
  execFileSync(process.execPath, [join(root, 'scripts', 'api-docs.mjs'), '--check'], { stdio: 'pipe' });
}, 60_000);

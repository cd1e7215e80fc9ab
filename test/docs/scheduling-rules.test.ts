import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('every file that docs/scheduling-rules.md names holds tests, or is part of them', () => {
  const page = readFileSync(new URL('../../docs/scheduling-rules.md', import.meta.url), 'utf8');
  const named = [...new Set(page.match(/\b(?:src|test)\/[\w./-]+\.ts\b/g))];
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([]);
});

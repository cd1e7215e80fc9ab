import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test.each(['scheduling-rules.md', 'deploy-rules.md'])(
  'every file that docs/%s names holds tests, or is part of them',
  (name) => {
    const page = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
    const named = [...new Set(page.match(/\b(?:src|test)\/[\w./-]+\.ts\b/g))];
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((file) => !existsSync(new URL(`../../${file}`, import.meta.url)))).toEqual([]);
  },
);

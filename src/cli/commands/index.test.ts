import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commands } from './index.js';

test('every command that the help lists has a definition, and no other has one', async () => {
  const modules = new Map<object, string[]>();
  for (const { summaries, load } of commands) modules.set(await load(), Object.keys(summaries));
  for (const [defined, names] of modules) expect(Object.keys(defined).sort()).toEqual([...names].sort());
});

test('docs/cli.md names every command, by topic', () => {
  const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
  const table = page.split('\n| topic ')[1]!.split('\n\n')[0]!;
  const named = [...table.matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
  const all = commands.flatMap(({ summaries }) => Object.keys(summaries));
  expect([...named].sort()).toEqual([...all, 'completion', 'help'].sort());
});

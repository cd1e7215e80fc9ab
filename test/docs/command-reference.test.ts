import { readFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { commandReference } from '../../scripts/reference.mjs';
import { commands } from '../../src/cli/commands/index.js';
import { runCommand } from '../../src/cli/program.js';

const page = readFileSync(new URL('../../docs/command-line.md', import.meta.url), 'utf8');

async function helpOf(...words: string[]): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await runCommand([...words, '--help'], {});
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
  }
}

test('docs/command-line.md is the help of all commands; node scripts/reference.mjs writes it', async () => {
  const names = commands.flatMap(({ summaries }) => Object.keys(summaries));
  const helps = new Map<string, string>();
  for (const name of [...names, 'help', 'completion']) helps.set(name, await helpOf(name));
  expect(commandReference(await helpOf(), (name) => helps.get(name)!)).toBe(page);
  expect(names.filter((name) => !page.includes(`\n### muster ${name}\n`))).toEqual([]);
});

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { testTitles } from './test-titles.js';

const project = new URL('../../', import.meta.url);

interface Rule {
  /** Its number and what holds. */
  rule: string;
  tests: { file: string; words: string[] }[];
}

/** `- **1.2** a rule`, and below it lines such as `  - src/a.test.ts: "words of a title", "of another one"`. */
function rulesOf(page: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of page.split('\n').map((each) => each.replaceAll('\\', ''))) {
    if (line.startsWith('- **')) rules.push({ rule: line.slice(2), tests: [] });
    const [, file, titles = ''] = /^ {2}- ([\w./-]+\.ts): (.*)$/.exec(line) ?? [];
    if (file) rules.at(-1)!.tests.push({ file, words: [...titles.matchAll(/"([^"]+)"/g)].map(([, words]) => words!) });
  }
  return rules;
}

const titles = new Map<string, string[] | undefined>();
/** Nothing when there is no such file. */
function titlesOf(file: string): string[] | undefined {
  const path = new URL(file, project);
  if (!titles.has(file) && existsSync(path)) {
    titles.set(
      file,
      testTitles(file, readFileSync(path, 'utf8')).map((title) => title.replaceAll(/["\\]/g, '')),
    );
  }
  return titles.get(file);
}

/** Those of the words that no test of the file has in its name. */
function missing({ file, words }: Rule['tests'][number]): string[] {
  const names = titlesOf(file);
  if (!names) return [`${file} is not there`];
  if (words.length === 0) return [`${file}: no test is named`];
  return words
    .filter((some) => !names.some((name) => name.includes(some)))
    .map((some) => `${file}: no test is named "${some}"`);
}

describe.each(['scheduling-rules.md', 'deploy-rules.md'])('docs/%s', (name) => {
  const rules = rulesOf(readFileSync(new URL(`docs/${name}`, project), 'utf8'));

  test('names tests for every rule', () => {
    expect(rules.length).toBeGreaterThan(140);
    expect(rules.filter(({ tests }) => tests.length === 0)).toEqual([]);
  });

  test('names tests that there are', () => expect(rules.flatMap(({ tests }) => tests.flatMap(missing))).toEqual([]));
});

test('a file that is there is not enough', () => {
  const file = 'test/docs/rule-tables.test.ts';
  expect(missing({ file, words: ['names tests for every rule'] })).toEqual([]);
  const unknown = ['a rule that was', 'tested once'].join(' ');
  expect(missing({ file, words: [unknown] })).toEqual([`${file}: no test is named "${unknown}"`]);
  expect(missing({ file, words: [] })).toEqual([`${file}: no test is named`]);
  expect(missing({ file: 'src/none.test.ts', words: ['any'] })).toEqual(['src/none.test.ts is not there']);
});

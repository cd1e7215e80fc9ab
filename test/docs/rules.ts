import { existsSync, readFileSync } from 'node:fs';
import { testTitles } from './test-titles.js';

const project = new URL('../../', import.meta.url);

/** An entry of a page that names tests. */
export interface Rule {
  /** Its number, or the fields that it is about, and what holds. */
  rule: string;
  tests: { file: string; words: string[] }[];
  /** The lines below it that name no tests. */
  remarks: string[];
}

export const readPage = (name: string): string => readFileSync(new URL(`docs/${name}`, project), 'utf8');

/** `- **1.2** a rule` or `- \`Record.field\`: effect`, and below it lines such as `  - src/a.test.ts: "words of a title"`. */
export function rulesOf(page: string): Rule[] {
  const rules: Rule[] = [];
  for (const line of page.split('\n').map((each) => each.replaceAll('\\', ''))) {
    if (/^- (\*\*|`)/.test(line)) rules.push({ rule: line.slice(2), tests: [], remarks: [] });
    const [, file, titles = ''] = /^ {2}- ([\w./-]+\.ts): (.*)$/.exec(line) ?? [];
    if (file) rules.at(-1)!.tests.push({ file, words: [...titles.matchAll(/"([^"]+)"/g)].map(([, words]) => words!) });
    else if (line.startsWith('  - ')) rules.at(-1)!.remarks.push(line.slice(4));
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

/** Words that no test of the file has in its name. */
export function missing({ file, words }: Rule['tests'][number]): string[] {
  const names = titlesOf(file);
  if (!names) return [`${file} is not there`];
  if (words.length === 0) return [`${file}: no test is named`];
  return words
    .filter((some) => !names.some((name) => name.includes(some)))
    .map((some) => `${file}: no test is named "${some}"`);
}

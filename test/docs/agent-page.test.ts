import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { missing, readPage, rulesOf } from './rules.js';

const page = readPage('internals/agent-rules.md');
const entries = rulesOf(page);
const notBuilt = 'not built yet';

/** Sections on the behaviour of an agent: every one has to be in the page. */
const sections = [
  '1.1 1.2 1.3 2.1 2.2 2.3 2.4 3.1 3.2 3.3 3.4 4.1 4.2 4.3 4.4',
  '5.1 5.2 5.3 5.4 5.5 5.6 5.7 5.8 5.9 5.10 5.11 5.12 6.1 6.2 6.3',
  '7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.1 8.2 8.2.7 9',
  '10.1 10.2 10.3 10.4 10.5 10.6 10.7 10.8',
  '11.1 11.2 11.3 11.4 11.5 11.6 11.7 11.8 11.9 12 13 14 15.1 15.2',
].flatMap((line) => line.split(' '));

/** The records that a deploy or a run is made of, and their fields, as `Record.field`. */
function fieldsOf(...roots: string[]): string[] {
  const records = new Map<string, ts.InterfaceDeclaration>();
  for (const name of ['deploy', 'deploy-spec', 'deploy-tasks', 'task-care', 'request', 'request-spec']) {
    const url = new URL(`../../src/core/model/${name}.ts`, import.meta.url);
    const source = ts.createSourceFile(name, readFileSync(url, 'utf8'), ts.ScriptTarget.Latest, true);
    for (const statement of source.statements)
      if (ts.isInterfaceDeclaration(statement)) records.set(statement.name.text, statement);
  }
  const seen = new Set<string>();
  const fields: string[] = [];
  const visit = (name: string): void => {
    const record = records.get(name);
    if (!record || seen.has(name)) return;
    seen.add(name);
    const follow = (node: ts.Node): void => {
      if (ts.isTypeReferenceNode(node)) visit(node.typeName.getText());
      if (ts.isExpressionWithTypeArguments(node)) visit(node.expression.getText());
      ts.forEachChild(node, follow);
    };
    record.heritageClauses?.forEach(follow);
    for (const member of record.members) {
      fields.push(`${name}.${member.name!.getText()}`);
      follow(member);
    }
  };
  for (const root of roots) visit(root);
  return fields;
}

const fieldsIn = (rule: string): string[] =>
  [
    ...rule
      .split('`: ')[0]!
      .concat('`')
      .matchAll(/`([A-Z]\w+\.\w+)`/g),
  ].map(([, field]) => field!);

test('every section has an entry', () => {
  const numbers = entries.flatMap(({ rule }) => /^\*\*([\d.]+)\*\*/.exec(rule)?.[1] ?? []);
  expect(sections.filter((section) => !numbers.includes(section))).toEqual([]);
  expect(numbers.filter((number) => !sections.includes(number))).toEqual([]);
});

test('every field of a deploy and of a run has one entry, and every entry a field', () => {
  const fields = fieldsOf('Deploy', 'RunNowRequest', 'ContainerInfo', 'ExecutorData');
  expect(fields.length).toBeGreaterThan(150);
  const described = entries.flatMap(({ rule }) => fieldsIn(rule));
  expect(fields.filter((field) => !described.includes(field))).toEqual([]);
  expect(described.filter((field, index) => !fields.includes(field) || described.indexOf(field) !== index)).toEqual([]);
});

test('every entry names tests that there are, or says that it is not built yet', () => {
  expect(entries.filter(({ tests, remarks }) => tests.length === 0 && !remarks.includes(notBuilt))).toEqual([]);
  expect(entries.flatMap(({ remarks }) => remarks).filter((remark) => remark !== notBuilt)).toEqual([]);
  expect(entries.flatMap(({ tests }) => tests.flatMap(missing))).toEqual([]);
});

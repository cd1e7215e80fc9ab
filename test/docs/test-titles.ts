import ts from 'typescript';

const runners = new Set(['test', 'it', 'describe']);

/** Titles of the tests of a file: the texts of test and describe, and the texts in the rows of their tables. */
export function testTitles(name: string, source: string): string[] {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && runners.has(rootOf(node.expression)) && node.arguments.length > 1) {
      const title = textOf(node.arguments[0]!);
      const table = tableOf(node.expression, file);
      if (title !== undefined) titles.push(title, ...(table ? rowTexts(table) : []));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return titles.map((title) => title.replaceAll(/\s+/g, ' '));
}

/** `test` of test.each(table). */
function rootOf(node: ts.Expression): string {
  if (ts.isPropertyAccessExpression(node) || ts.isCallExpression(node)) return rootOf(node.expression);
  return ts.isIdentifier(node) ? node.text : '';
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isBinaryExpression(node)) return `${textOf(node.left) ?? ''}${textOf(node.right) ?? ''}`;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('');
}

/** The rows of test.each, also when they have a name in the same file. */
function tableOf(called: ts.Expression, file: ts.SourceFile): ts.Node | undefined {
  if (!ts.isCallExpression(called)) return undefined;
  const [table] = called.arguments;
  if (!table || !ts.isIdentifier(table)) return table;
  let found: ts.Node | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === table.text) found = node.initializer;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function rowTexts(table: ts.Node): string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text === undefined) ts.forEachChild(node, visit);
    else texts.push(text);
  };
  visit(table);
  return texts;
}

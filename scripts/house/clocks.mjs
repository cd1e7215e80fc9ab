import ts from 'typescript';

/**
 * Where the clock of this machine may be read, and why. Elsewhere it would meet times of the database, from which it may differ by any
 * amount: `Clock` has that time, and how long something has lasted.
 * @type {{ path: RegExp, why: string }[]}
 */
export const readers = [
  { path: /^src\/platform\/clock\.ts$/, why: 'the clock itself, where there is no database' },
  {
    path: /^src\/platform\/database\/database-clock\.ts$/,
    why: 'what is shown until the database has told its time, and the difference that operators are told',
  },
  {
    path: /^src\/(pod-)?agent\//,
    why: 'a process without a database: the driver puts what it tells into the time of the database',
  },
  {
    path: /^src\/cli\/(commands\/|words\.ts$)/,
    why: 'a process without a database: ages and moments for the person who waits before it',
  },
];

/** @returns {Map<string, number[]>} lines of program that read the clock of this machine where they may not, by path */
export function clockReads(files) {
  const found = new Map();
  for (const { path, ast, isProgram } of files.values()) {
    if (!isProgram || readers.some((reader) => reader.path.test(path))) continue;
    const lines = [];
    const visit = (node) => {
      if (readsClock(node)) lines.push(ast.getLineAndCharacterOfPosition(node.getStart()).line + 1);
      ts.forEachChild(node, visit);
    };
    visit(ast);
    if (lines.length > 0) found.set(path, lines);
  }
  return found;
}

function readsClock(node) {
  if (ts.isPropertyAccessExpression(node)) {
    const of = node.expression.getText();
    return (of === 'Date' && node.name.text === 'now') || (of === 'performance' && node.name.text === 'timeOrigin');
  }
  if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length;
  return ts.isCallExpression(node) && node.expression.getText() === 'Date';
}

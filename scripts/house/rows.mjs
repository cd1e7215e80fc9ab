import ts from 'typescript';

/**
 * Where SQL may stand outside of repositories, and why. What is written there does not make its room an owner.
 * @type {{ path: RegExp, why: string }[]}
 */
export const exceptions = [
  { path: /^src\/platform\/database\//, why: 'the pool, transactions and migrations themselves' },
  { path: /^src\/platform\/leadership\//, why: "the leader's lease, on a connection of its own" },
  { path: /^src\/platform\/wake\//, why: 'LISTEN and NOTIFY, which touch no row' },
];

/** Repositories that may write the tables of other rooms, and why. */
export const foreignWriters = [
  {
    path: /^src\/modules\/history\/backfill\/history-backfill\.repository\.ts$/,
    why: 'converts the payloads of an older installation once, alike in three tables',
  },
  {
    path: /^packages\/migrate\/src\/import-history\/dump-rows\.repository\.ts$/,
    why: 'fills the tables from the dump of an older installation, alike in four tables',
  },
];

/** Statements begin with capitals here. Prose does not, so that a message may say "update" or "from". */
const statements = [
  /\bSELECT\b[\s\S]*\bFROM\b/,
  /^\s*SELECT\s/,
  /\bINSERT INTO\b/,
  /\bUPDATE\s+\S+(\s+(AS\s+)?\w+)?\s+SET\b/,
  /\bDELETE FROM\b/,
  /^\s*WITH\s+(RECURSIVE\s+)?\w+[^]*\bAS\s+(MATERIALIZED\s+|NOT MATERIALIZED\s+)?\(/,
  /\bTRUNCATE\s+\w/,
  /^\s*(LISTEN|NOTIFY|ANALYZE|VACUUM|LOCK TABLE)\s/,
  // Pieces of statements.
  /\bJOIN\s+\S+(\s+\w+)?\s+(ON|USING)\b/,
  /\bWHERE\s+[\w.$({]/,
  /\bORDER BY\s+[\w.$({]/,
  /\bFOR (NO KEY )?(UPDATE|SHARE)\b/,
  /\bON CONFLICT\b/,
];

const managers = new Set([
  'Queryable',
  'Transaction',
  'DatabasePool',
  'EntityManager',
  'QueryRunner',
  'DataSource',
  'Repository',
]);
const managerNames = new Set(['tx', 'pool', 'leaderPool', 'manager', 'queryRunner', 'dataSource']);
const reads = /^(find|exists?|count|sum|average|minimum|maximum|metadata$)/;
const managerCalls =
  /^(find|findAndCount|findBy|findOne|findOneBy|findOneOrFail|findOneByOrFail|exists|existsBy|count|countBy|sum|average|minimum|maximum|save|insert|upsert|update|updateAll|delete|deleteAll|remove|softDelete|softRemove|restore|recover|clear|increment|decrement|query|createQueryBuilder|getRepository|withRepository)$/;
const buildsQueries = new Set(['getRepository', 'createQueryBuilder', 'getTreeRepository', 'withRepository']);

/**
 * @typedef {object} RowUse
 * @property {number} line
 * @property {string} what for people
 * @property {string[]} [writes] tables
 *
 * @returns {RowUse[]} every statement and every TypeORM call of a file
 */
export function rowUses(file, tables) {
  if (file.path.endsWith('.entity.ts')) return [];
  const uses = [];
  const typed = managersOf(file.ast);
  const own = wholeTableNames(file, tables);
  const add = (node, what, writes) =>
    uses.push({ line: file.ast.getLineAndCharacterOfPosition(node.getStart()).line + 1, what, writes });

  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    // The served document tells about rows in prose; decorators hold no statements.
    if (ts.isDecorator(node)) return;
    const text = literalText(node);
    if (text !== undefined) {
      if (statements.some((statement) => statement.test(text)))
        add(node, firstLine(text), writtenTables(text, tables, own));
    } else if (ts.isCallExpression(node)) {
      const call = typeormCall(node, typed);
      if (call) add(node, firstLine(node.getText()), writtenBy(node, call, tables));
    }
    ts.forEachChild(node, visit);
  };
  visit(file.ast);
  return uses;
}

/** The tables that entities declare: name to the entity's file and class. */
export function tablesOf(files) {
  const tables = new Map();
  for (const { path, ast, isProgram } of files.values()) {
    if (!isProgram || !path.endsWith('.entity.ts')) continue;
    for (const node of ast.statements) {
      if (!ts.isClassDeclaration(node)) continue;
      const entity = ts.getDecorators(node)?.find(({ expression }) => /^(View)?Entity\(/.test(expression.getText()));
      const name = entity && /'(\w+)'/.exec(entity.expression.getText())?.[1];
      if (name) tables.set(name, { path, entity: node.name?.text });
    }
  }
  return tables;
}

function literalText(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `\${}${literal.text}`).join('');
}

function writtenTables(text, tables, own) {
  const written = [];
  for (const [, name] of text.matchAll(/\b(?:INSERT INTO|DELETE FROM(?: ONLY)?|TRUNCATE(?: TABLE)?|UPDATE)\s+(\S+)/g)) {
    if (tables.has(name.replace(/\W+$/, ''))) written.push(name.replace(/\W+$/, ''));
    // A table that the program chooses: any of those that the file names.
    else if (name.startsWith('${')) written.push(...own);
  }
  return written;
}

function wholeTableNames({ ast }, tables) {
  const names = new Set();
  const visit = (node) => {
    if (ts.isStringLiteralLike(node) && tables.has(node.text)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ast);
  return names;
}

/** Names of parameters, properties and variables that are declared as a manager of TypeORM. */
function managersOf(ast) {
  const names = new Set(managerNames);
  const visit = (node) => {
    const type =
      (ts.isParameter(node) || ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) && node.type;
    if (type && ts.isTypeReferenceNode(type) && managers.has(type.typeName.getText()) && ts.isIdentifier(node.name)) {
      names.add(node.name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ast);
  return names;
}

/** The name of the called method when it is one of TypeORM, or `rows`. */
function typeormCall(node, typed) {
  const called = node.expression;
  if (ts.isIdentifier(called)) return called.text === 'rows' ? 'rows' : undefined;
  if (!ts.isPropertyAccessExpression(called)) return undefined;
  const name = called.name.text;
  if (name === 'query' || buildsQueries.has(name)) return name;
  const of = called.expression;
  const owner = ts.isIdentifier(of) ? of.text : ts.isPropertyAccessExpression(of) ? of.name.text : undefined;
  const ofSource = owner === 'manager' || (owner !== undefined && typed.has(owner));
  return ofSource && managerCalls.test(name) ? name : undefined;
}

function writtenBy(node, call, tables) {
  if (call === 'rows' || call === 'query') return [];
  const named = node.arguments[0]?.getText();
  const table = [...tables].find(([, { entity }]) => entity === named)?.[0];
  if (!table) return [];
  if (!buildsQueries.has(call)) return reads.test(call) ? [] : [table];
  const next = ts.isPropertyAccessExpression(node.parent) ? node.parent.name.text : undefined;
  if (next && (reads.test(next) || call === 'createQueryBuilder')) return [];
  // getRepository(X).createQueryBuilder().insert()
  if (next === 'createQueryBuilder') {
    return /\.(insert|update|delete|softDelete|restore)\(/.test(chainOf(node).getText()) ? [table] : [];
  }
  return next === undefined && !writesSomething(node) ? [] : [table];
}

function chainOf(node) {
  let end = node;
  while (ts.isPropertyAccessExpression(end.parent) || ts.isCallExpression(end.parent)) end = end.parent;
  return end;
}

/** A repository that is kept under a name: does its file write through any? */
const writesSomething = (node) =>
  /\.(insert|upsert|update|delete|save|remove|softDelete)\(/.test(node.getSourceFile().text);

const firstLine = (text) => {
  const [line = ''] = text.trim().split('\n');
  return line.length > 90 ? `${line.slice(0, 87)}...` : line;
};

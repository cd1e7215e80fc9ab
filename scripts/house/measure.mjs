import ts from 'typescript';
import { circlesOf } from './circles.mjs';
import { duplicatesOf } from './duplicates.mjs';
import { libraryReaches } from './libraries.mjs';
import { roomOf } from './tree.mjs';
import { exceptions, foreignWriters, rowUses, tablesOf } from './rows.mjs';
import { wordsOf } from './words.mjs';

/** Report of `npm run house` about one tree of files. */
export function measure(files) {
  const program = [...files.values()].filter(({ isProgram }) => isProgram);
  const byHand = [...files.values()].filter(({ path }) => /^(src|packages\/[^/]+\/src)\/(?!.*\.test\.ts$)/.test(path));
  const rows = rowFindings(files);
  const lines = program.map(({ text }) => text.split('\n').length - 1).sort((a, b) => a - b);
  const importers = importersOf(program);
  const single = program.filter(({ path }) => importers.get(path)?.size === 1);
  const small = single.filter(({ text }) => text.split('\n').length - 1 < 40);
  const arrows = roomArrows(program, () => true);
  const arrowsOfServices = roomArrows(program, (target) => !/\.(repository|entity|dto)\.ts$/.test(target));
  return {
    ...rows,
    files: program.length,
    linesByHand: byHand.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
    constructors: program.flatMap(longConstructors),
    duplicates: duplicatesOf(byHand),
    median: quantile(lines, 0.5),
    p90: quantile(lines, 0.9),
    oneImporter: single.length / program.length,
    oneImporterSmall: small.length / program.length,
    circles: circlesOf(files),
    rooms: new Set(program.flatMap(({ path }) => /^src\/modules\/([^/]+)\//.exec(path)?.[1] ?? [])).size,
    arrows: arrows.size,
    twoWay: twoWay(arrows),
    arrowsOfServices: arrowsOfServices.size,
    twoWayOfServices: twoWay(arrowsOfServices),
    modules: program.filter(({ ast }) => hasModule(ast)).length,
    unusedExports: unusedExports(files),
    reaches: libraryReaches(files),
    words: wordsOf(files),
  };
}

/**
 * Statements and TypeORM calls outside of repositories, and the owners of each table: the rooms that declare or write it.
 * @returns {{ strays: Map<string, import('./rows.mjs').RowUse[]>, owners: Map<string, Map<string, string[]>> }}
 */
export function rowFindings(files) {
  const tables = tablesOf(files);
  const strays = new Map();
  /** Table, then room, then the files of the room that write it. */
  const owners = new Map([...tables].map(([table, { path }]) => [table, new Map([[roomOf(path), []]])]));
  for (const file of files.values()) {
    if (!file.isProgram) continue;
    const uses = rowUses(file, tables);
    const isIn = (places) => places.some(({ path }) => path.test(file.path));
    if (uses.length > 0 && !file.path.endsWith('.repository.ts') && !isIn(exceptions)) strays.set(file.path, uses);
    if (isIn(exceptions) || isIn(foreignWriters)) continue;
    for (const table of new Set(uses.flatMap(({ writes = [] }) => writes))) {
      const rooms = owners.get(table);
      rooms.set(file.room, [...(rooms.get(file.room) ?? []), file.path]);
    }
  }
  return { strays, owners };
}

export const sharedTables = (owners) => [...owners].filter(([, rooms]) => rooms.size > 1);

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

function importersOf(program) {
  const importers = new Map();
  for (const { path, imports } of program) {
    for (const { target } of imports) {
      if (target && target !== path) importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  return importers;
}

function roomArrows(program, counts) {
  const arrows = new Set();
  for (const { path, imports } of program) {
    for (const { target } of imports) {
      if (!path.startsWith('src/modules/') || !target?.startsWith('src/modules/') || !counts(target)) continue;
      if (roomOf(path) !== roomOf(target)) arrows.add(`${roomOf(path)} -> ${roomOf(target)}`);
    }
  }
  return arrows;
}

function twoWay(arrows) {
  return [...arrows].filter((arrow) => {
    const [from, to] = arrow.split(' -> ');
    return from < to && arrows.has(`${to} -> ${from}`);
  });
}

/** More of these, and a class does more than one thing. */
const mostDependencies = 8;

function longConstructors(file) {
  return constructors(file)
    .map(({ name, parameters }) => ({ path: file.path, name, count: parameters.length }))
    .filter(({ count }) => count > mostDependencies);
}

/** More of these, and a class takes Rows. */
const mostRepositories = 2;

/** Classes that inject many repositories, each by itself. */
export function manyRepositories(files) {
  const asking = [...files.values()].filter(({ isProgram, path }) => isProgram && !path.endsWith('.repository.ts'));
  return asking.flatMap((file) =>
    constructors(file)
      .filter(({ parameters }) => parameters.filter(isRepository).length > mostRepositories)
      .map(({ name }) => `${file.path} ${name}`),
  );
}

const isRepository = ({ type }) => type?.getText().endsWith('Repository') ?? false;

function constructors({ ast }) {
  return ast.statements.filter(ts.isClassDeclaration).flatMap(({ name, members }) => {
    const found = members.find((member) => ts.isConstructorDeclaration(member) && member.body);
    return found ? [{ name: name?.text ?? 'default', parameters: found.parameters }] : [];
  });
}

const hasModule = (ast) =>
  ast.statements.some(
    (node) =>
      ts.isClassDeclaration(node) &&
      ts.getDecorators(node)?.some(({ expression }) => expression.getText().startsWith('Module(')),
  );

/** Exports of src that no other file names, tests included. */
function unusedExports(files) {
  const used = new Map();
  const use = (path, name) => {
    const names = used.get(path) ?? new Set();
    if (names.has(name)) return;
    used.set(path, names.add(name));
    // A name that another file hands on is used there as well.
    for (const { target, names: handed, isExport } of files.get(path)?.imports ?? []) {
      if (isExport && target && (handed === undefined || handed.includes(name) || name === '*')) use(target, name);
    }
  };
  for (const { imports } of files.values()) {
    for (const { target, names, isExport } of imports) {
      if (!target) continue;
      if (names) for (const name of names) use(target, name);
      else if (!isExport) use(target, '*');
    }
  }
  return [...files.values()]
    .filter(({ isProgram, path }) => isProgram && path !== 'src/main.ts' && !used.get(path)?.has('*'))
    .flatMap(({ ast, path }) =>
      exportedNames(ast)
        .filter((name) => !used.get(path)?.has(name))
        .map((name) => `${path} ${name}`),
    );
}

function exportedNames(ast) {
  return ast.statements.flatMap((node) => {
    if (!ts.canHaveModifiers(node)) return [];
    const kinds = ts.getModifiers(node)?.map(({ kind }) => kind) ?? [];
    if (!kinds.includes(ts.SyntaxKind.ExportKeyword)) return [];
    if (kinds.includes(ts.SyntaxKind.DefaultKeyword)) return ['default'];
    if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText());
    return node.name ? [node.name.getText()] : [];
  });
}

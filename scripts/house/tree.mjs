import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

/** Directories of the program, and of what else may import it. */
const folders = ['src', 'test', 'packages', 'migrations', 'scripts'];

/**
 * @typedef {object} SourceFile
 * @property {string} path from the root of the tree
 * @property {string} text
 * @property {boolean} isProgram in src, or of the package that stands on its rooms, and no test
 * @property {string | undefined} room
 * @property {import('typescript').SourceFile} ast
 * @property {Import[]} imports
 *
 * @typedef {object} Import
 * @property {string} from as written
 * @property {string | undefined} target the file of ours that it names
 * @property {string[] | undefined} names undefined: all of them
 * @property {boolean} isExport re-exported under these names
 */

/** @returns {Map<string, SourceFile>} every source file below `root`, by its path */
export function readTree(root) {
  const paths = folders.filter((folder) => existsSync(join(root, folder))).flatMap((folder) => sources(root, folder));
  const files = new Map();
  for (const path of paths) {
    const text = readFileSync(join(root, path), 'utf8');
    const ast = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const isProgram = /^(src|packages\/migrate\/src)\//.test(path) && !path.endsWith('.test.ts');
    files.set(path, { path, text, ast, isProgram, room: roomOf(path), imports: [] });
  }
  for (const file of files.values()) file.imports = importsOf(file.ast, file.path, files);
  return files;
}

/**
 * Owner of tables: a room of src/modules, a part of the platform, the scheduler, another directory of src, or
 * packages/migrate.
 */
export function roomOf(path) {
  if (path.startsWith('packages/migrate/')) return 'packages/migrate';
  const [, inModules, inPlatform, other] = /^src\/(?:modules\/([^/]+)|platform\/([^/]+)|([^/]+))\//.exec(path) ?? [];
  return inModules ?? (inPlatform && `platform/${inPlatform}`) ?? other;
}

/** Directories of what is installed, built or generated. */
const notOurs = new Set(['node_modules', 'dist', 'generated']);

function sources(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : sources(root, path);
    return /\.(ts|mjs|cjs)$/.test(entry.name) ? [path] : [];
  });
}

function importsOf(ast, path, files) {
  const found = [];
  const add = (from, names, isExport = false) =>
    found.push({ from, target: resolve(path, from, files), names, isExport });
  const visit = (node) => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings;
      const named = bindings && ts.isNamedImports(bindings) ? bindings.elements.map(originalName) : undefined;
      const byDefault = node.importClause?.name ? ['default'] : [];
      add(node.moduleSpecifier.text, bindings && !named ? undefined : [...byDefault, ...(named ?? [])]);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      const clause = node.exportClause;
      const named = clause && ts.isNamedExports(clause) ? clause.elements.map(originalName) : undefined;
      add(node.moduleSpecifier.text, named, true);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      if (node.arguments[0] && ts.isStringLiteralLike(node.arguments[0])) add(node.arguments[0].text, undefined);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal.text, undefined);
    }
    ts.forEachChild(node, visit);
  };
  visit(ast);
  return found;
}

const originalName = (element) => (element.propertyName ?? element.name).text;

function resolve(path, from, files) {
  if (from === 'rest-contract') return 'packages/rest-contract/src/index.ts';
  if (from === 'muster-client') return 'packages/client/src/index.ts';
  if (!from.startsWith('.')) return undefined;
  const target = join(dirname(path), from);
  return [target.replace(/\.js$/, '.ts'), target].find((candidate) => files.has(candidate));
}

import ts from 'typescript';

/**
 * Where an object of a library is used other than its documentation says, and why nothing documented would do. The comment in the file
 * says more.
 * @type {{ path: RegExp, why: string }[]}
 */
export const reaches = [
  {
    path: /^src\/platform\/database\/server-proof\.mjs$/,
    why: 'pg has no option that demands SCRAM-SHA-256: its connection is listened to while it logs in',
  },
  {
    path: /^src\/platform\/http\/error\.filter\.ts$/,
    why: 'Express does not tell which methods a path has, which a 405 has to name',
  },
  {
    path: /^src\/platform\/idempotency\/idempotent-calls\.interceptor\.ts$/,
    why: 'an answer is kept as it is sent, by whatever part of the service; Node.js has no event before the last byte',
  },
];

/** Documented for libraries that build on it, in spite of its name. */
const documented = new Set(['_zod']);
const ours = /^(\.|rest-contract|muster-client)/;
const inside = /^(@[^/]+\/)?[^/]+\/(.*\/)?(lib|dist|cjs|esm\d*|src|build|internals?|constants|enums)(\/|\.|$)/;
const globals = ['Request', 'Response', 'Headers', 'ReadableStream', 'fetch', 'process', 'console', 'globalThis'];
const changes = /^(Object\.(assign|definePropert(y|ies)|setPrototypeOf)|Reflect\.(set|defineProperty|setPrototypeOf))$/;

/**
 * Places of program where an object of a library is changed, cast into what it is not, or read by a private name. Found without types:
 * an object is of a library where the file imports it, or its type, or gets it from such an object.
 * @returns {{ path: string, line: number, what: string }[]}
 */
export function libraryReaches(files) {
  const found = [];
  for (const { path, ast } of files.values()) {
    if (!/^(src|packages\/[^/]+\/src)\//.test(path) || path.endsWith('.test.ts')) continue;
    const isOfLibrary = ofLibraries(ast);
    const visit = (node) => {
      if (reachesIn(node, isOfLibrary)) {
        const line = ast.getLineAndCharacterOfPosition(node.getStart()).line + 1;
        found.push({ path, line, what: node.getText().split('\n')[0].slice(0, 90) });
      }
      ts.forEachChild(node, visit);
    };
    visit(ast);
  }
  return found;
}

/** The places found that have no reason: one place a file has the one of its file. */
export const unexplained = (found) =>
  found.filter(
    ({ path }, index) =>
      !reaches.some((reach) => reach.path.test(path)) || found.findIndex((other) => other.path === path) !== index,
  );

function reachesIn(node, isOfLibrary) {
  if (ts.isAsExpression(node) && isUnknown(node.expression)) {
    return isOfLibrary(node.expression.expression) || isOfLibrary(node.type);
  }
  if (ts.isCallExpression(node)) {
    const called = node.expression.getText();
    if (changes.test(called)) return !ts.isNewExpression(node.arguments[0]) && isOfLibrary(node.arguments[0]);
    return /\.(removeAllListeners|rawListeners)$/.test(called) || isPrivateMetadata(node, called);
  }
  if (ts.isImportDeclaration(node)) {
    const from = node.moduleSpecifier.text;
    return !ours.test(from) && inside.test(from);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
    const isMethod = ts.isArrowFunction(node.right) || ts.isFunctionExpression(node.right);
    return isMethod && ts.isPropertyAccessExpression(node.left) && isOfLibrary(node.left.expression);
  }
  if (ts.isPropertyAccessExpression(node)) {
    return node.name.text.startsWith('_') && !documented.has(node.name.text) && isOfLibrary(node.expression);
  }
  if (ts.isElementAccessExpression(node)) return isHiddenKey(node) && isOfLibrary(node.expression);
  return false;
}

const isUnknown = (node) => ts.isAsExpression(node) && node.type.kind === ts.SyntaxKind.UnknownKeyword;

/** A private name as text, or a symbol that the file has made. */
function isHiddenKey({ argumentExpression: key }) {
  if (ts.isStringLiteralLike(key)) return key.text.startsWith('_');
  return ts.isIdentifier(key) && new RegExp(`\\b${key.text} = Symbol\\(`).test(key.getSourceFile().text);
}

/** Metadata that a framework keeps under names of its own. */
function isPrivateMetadata(node, called) {
  const [key] = node.arguments;
  if (!/^Reflect\.(get|has|define)(Own)?Metadata$/.test(called) || !key) return false;
  const text = ts.isStringLiteralLike(key) ? `'${key.text}'` : key.getText();
  const named = new RegExp(`\\b${text.replaceAll(/\W/g, '\\$&')} = ['"\`]__`).test(node.getSourceFile().text);
  return text.startsWith("'__") || named;
}

/** Returns a test if an expression, or a type, is of a library, as far as one file tells. */
function ofLibraries(ast) {
  const names = new Set(globals);
  const declared = new Map();
  const declare = (name, node) => declared.set(name, [...(declared.get(name) ?? []), node]);
  const collect = (node) => {
    if (ts.isImportDeclaration(node)) {
      const { name, namedBindings: bindings } = node.importClause ?? {};
      const elements = bindings && ts.isNamedImports(bindings) ? bindings.elements : bindings ? [bindings] : [];
      for (const imported of [...(name ? [name.text] : []), ...elements.map((one) => one.name.text)]) {
        // One of ours may be called as one of the platform.
        if (ours.test(node.moduleSpecifier.text)) names.delete(imported);
        else names.add(imported);
      }
    } else if (
      (ts.isParameter(node) || ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) &&
      ts.isIdentifier(node.name)
    ) {
      if (node.type) declare(node.name.text, node.type);
      else if (node.initializer) declare(node.name.text, node.initializer);
    }
    ts.forEachChild(node, collect);
  };
  collect(ast);

  const isOfLibrary = (node, seen = new Set()) => {
    if (!node || seen.has(node)) return false;
    seen.add(node);
    const inner = (next) => isOfLibrary(next, seen);
    if (ts.isIdentifier(node)) {
      return names.has(node.text) || (declared.get(node.text) ?? []).some(inner);
    }
    if (ts.isTypeReferenceNode(node)) return names.has(node.typeName.getText().split('.')[0]);
    if (ts.isTypeQueryNode(node)) return names.has(node.exprName.getText().split('.')[0]);
    if (ts.isPropertyAccessExpression(node)) {
      const isOwn = node.expression.kind === ts.SyntaxKind.ThisKeyword;
      return isOwn ? (declared.get(node.name.text) ?? []).some(inner) : inner(node.expression);
    }
    if (ts.isAsExpression(node)) return inner(node.type) || inner(node.expression);
    const isWrapped =
      ts.isCallExpression(node) ||
      ts.isNewExpression(node) ||
      ts.isAwaitExpression(node) ||
      ts.isNonNullExpression(node);
    return (isWrapped || ts.isParenthesizedExpression(node)) && inner(node.expression);
  };
  return isOfLibrary;
}

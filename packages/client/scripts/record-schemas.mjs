import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/*
 * The records are interfaces, written once: for people, for editors and for the compiler. What an OpenAPI document says about
 * them is read off their source here, when the package is built and in tests, so that a client carries none of it.
 */

const folder = fileURLToPath(new URL('../src/records/', import.meta.url));

/** Schemas in the dialect of OpenAPI 3.0, by the names of the records. */
export function recordSchemas() {
  const schemas = {};
  const words = new Map();
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== 'index.ts')) {
    const source = ts.createSourceFile(file, readFileSync(join(folder, file), 'utf8'), ts.ScriptTarget.ES2022, true);
    for (const node of source.statements) {
      if (ts.isVariableStatement(node)) noteWords(node, words);
    }
    for (const node of source.statements) {
      if (ts.isInterfaceDeclaration(node)) schemas[node.name.text] = recordOf(node);
      if (ts.isTypeAliasDeclaration(node)) schemas[node.name.text] = { ...aliasOf(node, words), ...described(node) };
    }
  }
  return schemas;
}

/** `const TaskState = words('TASK_LAUNCHED', …)`. */
function noteWords(statement, words) {
  for (const { name, initializer } of statement.declarationList.declarations) {
    if (!ts.isCallExpression(initializer) || initializer.expression.getText() !== 'words') continue;
    words.set(name.getText(), { type: 'string', enum: initializer.arguments.map(({ text }) => text) });
  }
}

const aliasOf = (node, words) => words.get(node.name.text) ?? schemaOf(node.type);

function recordOf(node) {
  const required = node.members.filter((member) => !member.questionToken).map((member) => member.name.getText());
  return {
    type: 'object',
    ...described(node),
    properties: Object.fromEntries(
      node.members.map((member) => {
        const schema = schemaOf(member.type);
        // Beside a reference nothing counts.
        const around = schema.$ref ? { allOf: [schema] } : schema;
        return [member.name.getText(), { ...around, ...described(member) }];
      }),
    ),
    ...(required.length > 0 && { required }),
  };
}

function described(node) {
  const [comment] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const deprecated = comment?.tags?.find((tag) => tag.tagName.text === 'deprecated');
  const text = ts.getTextOfJSDocComment(deprecated?.comment ?? comment?.comment)?.replaceAll('\n', ' ');
  return { ...(text && { description: text }), ...(deprecated && { deprecated: true }) };
}

const simple = {
  Int32: { type: 'integer', format: 'int32' },
  Int64: { type: 'integer', format: 'int64' },
  Base64: { type: 'string', format: 'byte' },
};

function schemaOf(type) {
  switch (type.kind) {
    case ts.SyntaxKind.StringKeyword:
      return { type: 'string' };
    case ts.SyntaxKind.NumberKeyword:
      return { type: 'number' };
    case ts.SyntaxKind.BooleanKeyword:
      return { type: 'boolean' };
    case ts.SyntaxKind.UnknownKeyword:
      return {};
    case ts.SyntaxKind.ArrayType:
      return { type: 'array', items: schemaOf(type.elementType) };
    case ts.SyntaxKind.ParenthesizedType:
      return schemaOf(type.type);
    case ts.SyntaxKind.LiteralType:
      return { type: 'string', enum: [type.literal.text] };
    case ts.SyntaxKind.UnionType:
      return unionOf(type.types.map(schemaOf));
    case ts.SyntaxKind.TypeReference:
      return referenceOf(type);
    default:
      throw new Error(`Records are made of simpler types than ${type.getText()}`);
  }
}

function unionOf(parts) {
  if (parts.some(({ enum: words }) => !words)) return { anyOf: parts };
  return { type: 'string', enum: parts.flatMap(({ enum: words }) => words) };
}

function referenceOf(type) {
  const name = type.typeName.getText();
  if (name === 'Record') return { type: 'object', additionalProperties: schemaOf(type.typeArguments[1]) };
  return simple[name] ?? { $ref: `#/components/schemas/${name}` };
}

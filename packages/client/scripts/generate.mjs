import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import openapiTS, { astToString } from 'openapi-typescript';
import * as ours from './names.mjs';

/** Writes what the client takes from the OpenAPI document: the records and operations as types, and the table of its calls. */
export async function generate(document, folder, given = ours) {
  const known = asKnown(document);
  const types = await openapiTS(known, {
    silent: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
    // A member with a default may be left out all the same.
    defaultNonNullable: false,
  });
  mkdirSync(folder, { recursive: true });
  // As the text of a comment rather than its tag: editors show that first.
  const records = astToString(types).replaceAll(/^( *(?:\/\*\*|\*)) @description /gm, '$1 ');
  writeFileSync(join(folder, 'records.ts'), note + records);
  writeFileSync(join(folder, 'operations.ts'), note + operationsOf(known, given));
}

const note = '// Made from the OpenAPI document by scripts/generate.mjs.\n\n';

/** One name, two records: an enumeration has the other one. */
const otherNames = { TaskStateDto: 'SchedulerTaskState' };
const bare = (name) => otherNames[name] ?? name.replace(/Dto$/, '');

/** The document as the client knows it: records by the API's names for them, answers without refusals, which are MusterErrors. */
function asKnown(document) {
  const { paths, components } = JSON.parse(
    JSON.stringify(document).replaceAll(
      /"#\/components\/schemas\/(\w+)"/g,
      (_reference, name) => `"#/components/schemas/${bare(name)}"`,
    ),
  );
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) operations[method] = asCalled(method, operation);
    paths[path] = operations;
  }
  const schemas = Object.fromEntries(Object.entries(components.schemas).map(([name, schema]) => [bare(name), schema]));
  return { openapi: document.openapi, info: document.info, paths, components: { schemas } };
}

function asCalled(method, { parameters = [], requestBody, responses, ...operation }) {
  return {
    ...operation,
    parameters: parameters
      .filter((parameter) => parameter.in === 'path' || parameter.in === 'query')
      .map(({ example: _example, ...parameter }) => parameter),
    // `fetch` sends no body with a GET, and the service needs none.
    ...(requestBody && method !== 'get' && { requestBody: jsonOnly(requestBody) }),
    responses: Object.fromEntries(Object.entries(responses).filter(([status]) => status.startsWith('2'))),
  };
}

const jsonOnly = ({ required, content: { 'application/json': json } }) => ({
  required,
  content: { 'application/json': { schema: json.schema } },
});

function operationsOf(document, { groups, names }) {
  const chapters = new Map();
  const unused = new Set(Object.keys(names));
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { operationId, tags } = operation;
      const name = names[operationId] ?? operationId.split('_').at(-1);
      unused.delete(operationId);
      const chapter = chapters.get(tags[0]) ?? new Map();
      chapters.set(tags[0], chapter);
      if (chapter.has(name)) throw new Error(`names.mjs: two operations of ${tags[0]} are called ${name}`);
      const call = [method.toUpperCase(), path, kindOf(operation, document)].map((text) => `'${text}'`).join(', ');
      chapter.set(name, { call, doc: docOf(operation) });
    }
  }
  if (unused.size > 0) throw new Error(`names.mjs names operations that there are not: ${[...unused].join(', ')}`);
  const named = [...chapters].map(([tag, chapter]) => {
    const [name = camelCase(tag), doc = `${tag}.`] = groups[tag] ?? [];
    return { name, doc, calls: [...chapter] };
  });
  return [
    "import type { Call } from '../call.js';\n",
    "/** All operations, group by group: `await muster.requests.get({ requestId: 'web' })`. */",
    'export interface Muster {',
    ...named.flatMap(({ name, doc, calls }) => [
      `  /** ${doc} */`,
      `  readonly ${name}: {`,
      ...calls.flatMap(([each, { call, doc }]) => [`    /** ${doc} */`, `    readonly ${each}: Call<${call}>;`]),
      '  };',
    ]),
    '}\n',
    'export const calls = {',
    ...named.flatMap(({ name, calls }) => [
      `  ${name}: {`,
      ...calls.map(([each, { call }]) => `    ${each}: [${call}],`),
      '  },',
    ]),
    '} as const;\n',
    '/** The words of each enumeration. A newer service may answer others. */',
    `export const enumerations = ${JSON.stringify(enumerationsOf(document), null, 2)} as const;\n`,
  ].join('\n');
}

const camelCase = (tag) => tag.toLowerCase().replaceAll(/ (\w)/g, (_all, letter) => letter.toUpperCase());

const docOf = ({ summary, description, deprecated }) =>
  [summary, description, deprecated && '@deprecated For older clients.']
    .filter(Boolean)
    .join('\n\n')
    .replaceAll('*/', '*\\/')
    .replaceAll('\n', '\n     * ');

const enumerationsOf = ({ components }) =>
  Object.fromEntries(
    Object.entries(components.schemas).flatMap(([name, { enum: words }]) => (words ? [[name, words]] : [])),
  );

/** Kind of an answer, as far as the client looks at it. */
function kindOf({ responses }, { components }) {
  const [[type, media] = []] = Object.values(responses).flatMap(({ content }) => Object.entries(content ?? {}));
  if (type === undefined) return 'nothing';
  if (type === 'text/plain' || type === 'text/html') return 'text';
  if (type !== 'application/json') return 'bytes';
  let known = media.schema;
  for (let at = known; at; at = at.$ref ? components.schemas[at.$ref.split('/').at(-1)] : at.allOf?.[0]) known = at;
  return known?.type ?? 'object';
}

import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { INestApplication } from '@nestjs/common';
import { ApiExtension, DocumentBuilder, getSchemaPath, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Express, RequestHandler } from 'express';
import { SchedulerError } from '../errors.js';
import { needsBody } from './bodies.js';
import { isGuarded } from './caller.js';
import { rootOf } from './context-path.js';
import { AnswerExamples } from './example-answers.js';
import { asBrowsersSend, findOperations } from './docs-page.js';
import { exampleBody, parameters, versionOfPackage } from './examples.js';
import { showMemberExamples } from './member-examples.js';
import { ErrorDto } from './error.dto.js';
import { sendJson } from './json.js';
import { refusals } from './refusals.js';
import type { Settings } from '../settings/settings.js';
import { lastMillis, longestText } from './input-limits.js';
import { sentenceOf, sinceExtension } from './since.js';

/** Swagger UI at /docs and the document behind it at /docs/openapi.json, made when first asked for. */
export function serveDocs(app: INestApplication, settings: Pick<Settings, 'auth' | 'ui' | 'http'>): void {
  const express = app.getHttpAdapter().getInstance() as Express;
  // The module serves its files under every way of writing their names, and has a route for one that it does not serve.
  const files = readdirSync(filesOfPage()).filter((name) => name !== 'LICENSE');
  express.use('/docs', nothingElse(files));
  let document: OpenAPIObject | undefined;
  const described = (): OpenAPIObject => (document ??= describeApi(app, settings));
  // The module would add a character set to its type, so that it serves the YAML alone.
  express.get('/docs/openapi.json', (_call, response) => sendJson(response, described()));
  SwaggerModule.setup('docs', app, described, {
    raw: ['yaml'],
    customSiteTitle: 'Muster API',
    swaggerOptions: {
      docExpansion: 'none',
      tagsSorter: 'alpha',
      defaultModelsExpandDepth: 0,
      filter: true,
      plugins: [findOperations],
      requestInterceptor: asBrowsersSend,
    },
  });
  // The files of the page are served without routes, by which other methods and OPTIONS are answered.
  for (const name of files) express.get(`/docs/${name}`, (_call, _response, next) => next());
}

/** Answers 404 for everything but the page, its document and its files, whatever the method. */
function nothingElse(files: readonly string[]): RequestHandler {
  const served = new Set(files.map((name) => `/${name}`));
  const routes = new Set(['', '/index.html', '/openapi.json', '/swagger-ui-init.js']);
  return ({ path, originalUrl }, _response, next) => {
    if (served.has(path) || routes.has(path.replace(/\/$/, ''))) return next();
    next(new SchedulerError('NOT_FOUND', `There is nothing at ${originalUrl.split('?', 1)[0]}`));
  };
}

/** The folder that SwaggerModule serves: a package of its own. */
function filesOfPage(): string {
  const ofModule = createRequire(createRequire(import.meta.url).resolve('@nestjs/swagger'));
  return (ofModule('swagger-ui-dist/absolute-path.js') as () => string)();
}

const description = `Schedules services, workers, cron jobs, on-demand and run-once jobs on a cluster of machines.

Times are epoch milliseconds. Members without a value are left out of answers. Every error has the same shape (ErrorDto),
whatever its status; each answer carries an id in X-Request-Id. Query parameters that are empty, zero, "null" or
"undefined" count as not given. Lists take \`property\` (repeatable): the dotted path of a member to keep, or to drop
after a '!'. A POST, PUT or DELETE with the header Idempotency-Key is done once: repeated within a day, it is given the
first answer, with Idempotent-Replayed. Any list can be read in pages: \`limit\` and \`cursor=*\`, then what X-Next-Cursor (or Link, rel="next") says,
until there is none. Reads carry an ETag. What no operation knows, in a body or a query, is ignored and named
in the header Warning, with the name that was probably meant; with the header Prefer: handling=strict such a call is 400.
Times in queries may be ISO 8601, too. Under overload a call is refused at once with 503 and Retry-After.
What older clients do not know is marked with \`x-since\`: \`1.5\` came with that version of this API, \`muster\` is our own.`;

const tokenDescription = 'A token of this service: `Token`, a space and its text. In this page the text alone will do.';

interface SimpleSchema {
  type?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

/** An element of the document that may be marked as later than what older clients know. */
interface DocumentedItem {
  description?: string;
  [sinceExtension]?: string;
}

interface Parameter extends DocumentedItem {
  in: string;
  name: string;
  required?: boolean;
  schema?: SimpleSchema;
  example?: unknown;
}

interface Operation extends DocumentedItem {
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: { $ref?: string }; example?: unknown }> };
  'x-needs-body'?: true;
  'x-shown-at'?: string;
  responses: Record<string, { description?: string; content?: Record<string, { schema?: object; example?: unknown }> }>;
  security?: object[];
}

/** The operations of one path, by method. */
const operationsOf = (path: object): [string, Operation][] => Object.entries(path);

/** The document as the rooms' controllers and records give it, with what is the same for all of them. */
export function describeApi(app: INestApplication, settings: Pick<Settings, 'auth' | 'ui' | 'http'>): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Muster')
    // No externalDocs: Swagger UI does not show what is relative to a document within the page.
    .setDescription(
      `${description}\n\nJobs, operation and reference, with a search: [the guide](${rootOf(settings)}/guide/).`,
    )
    .setVersion(versionOfPackage())
    .addApiKey({ type: 'apiKey', in: 'header', name: 'Authorization', description: tokenDescription }, 'token')
    .addBearerAuth({ type: 'http', description: 'A token of the OIDC provider that is configured.' }, 'bearer')
    .build();
  config.servers = [{ url: rootOf(settings) || '/' }];
  // One of them; while callers are not asked who they are, none will do as well.
  config.security = [...(settings.auth.enabled ? [] : [{}]), { token: [] }, { bearer: [] }];
  const document = SwaggerModule.createDocument(app, config, {
    extraModels: [ErrorDto],
    // The groups of the API are named by hand, and an operation is in one of them.
    autoTagControllers: false,
    operationIdFactory: (controller, method) => `${controller.replace(/Controller$/, '')}_${method}`,
  });
  showAtNames(document);
  putUnderOneTemplate(document);
  showMemberExamples(document.components?.schemas);
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    if (!('properties' in schema) || !schema.properties) continue;
    dropOtherSpellings(schema.properties as Record<string, { writeOnly?: boolean }>);
    for (const member of Object.values(schema.properties)) sayAddition(member as DocumentedItem);
  }
  const answers = new AnswerExamples(document);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of operationsOf(operations)) {
      const answer = operation.responses['200']?.content?.['application/json'];
      if (answer?.schema) answer.example = answers.of(answer.schema);
      complete(operation, document);
      tellRefusals(operation, `${method.toUpperCase()} ${path}`, path);
      showExample(operation, `${method} ${path}`, document);
      if (!isGuarded(path)) operation.security = [];
    }
  }
  document.paths = withOldOnesLast(document.paths);
  return document;
}

/** Shows an example. Else the page makes one of every member there is, which no service would take. */
function showExample(operation: Operation, name: string, document: OpenAPIObject): void {
  const content = operation.requestBody?.content?.['application/json'];
  if (content?.schema?.$ref) content.example = exampleBody(name, content.schema, document);
}

/** Paths that only older clients use come after all others. */
function withOldOnesLast(paths: OpenAPIObject['paths']): OpenAPIObject['paths'] {
  const isOld = (operations: object): boolean =>
    Object.values(operations as Record<string, { deprecated?: boolean }>).every(({ deprecated }) => deprecated);
  const all = Object.entries(paths);
  return Object.fromEntries([...all.filter(([, item]) => !isOld(item)), ...all.filter(([, item]) => isOld(item))]);
}

/** Paths that settings decide are shown by the names of the settings. */
function showAtNames({ paths }: OpenAPIObject): void {
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of operationsOf(operations)) {
      const name = operation[shownAt];
      if (name === undefined) continue;
      delete paths[path];
      delete operation[shownAt];
      paths[name] = { ...paths[name], [method]: operation };
    }
  }
}

/** Paths that differ only in the names of their parameters are one path: those of the first one stand for all. */
function putUnderOneTemplate({ paths }: OpenAPIObject): void {
  const templates = new Map<string, string>();
  for (const [path, operations] of Object.entries(paths)) {
    const shape = path.replaceAll(parameterOfPath, '{}');
    const first = templates.get(shape);
    if (first === undefined) {
      templates.set(shape, path);
      continue;
    }
    const [theirs, ours] = [path, first].map((one) => [...one.matchAll(parameterOfPath)].map(([, name]) => name!));
    const renamed = new Map(theirs!.map((name, index) => [name, ours![index]!]));
    for (const [, { parameters = [] }] of operationsOf(operations)) {
      for (const one of parameters) if (one.in === 'path') one.name = renamed.get(one.name) ?? one.name;
    }
    paths[first] = { ...paths[first], ...operations };
    delete paths[path];
  }
}
const parameterOfPath = /\{(\w+)\}/g;

/**
 * Drops names that differ from others in capital letters and underscores only, which not every language can tell apart:
 * the one that is answered stays.
 */
function dropOtherSpellings(members: Record<string, { writeOnly?: boolean }>): void {
  const spellingOf = (name: string): string => name.replaceAll('_', '').toLowerCase();
  for (const [name, { writeOnly }] of Object.entries(members)) {
    const isOther = (other: string): boolean => other !== name && spellingOf(other) === spellingOf(name);
    if (writeOnly && Object.keys(members).some(isOther)) delete members[name];
  }
}

/** In words as well, for readers of the page. */
function sayAddition(marked: DocumentedItem): void {
  const sentence = sentenceOf(marked[sinceExtension]);
  if (sentence) marked.description = [marked.description, sentence].filter(Boolean).join(' ');
}

function complete(operation: Operation, document: OpenAPIObject): void {
  sayAddition(operation);
  for (const parameter of operation.parameters ?? []) {
    sayAddition(parameter);
    const { means, example } = parameters[parameter.name] ?? {};
    if (parameter.in === 'path') parameter.description ??= means;
    // Of those that may be left out the page would send each that has one.
    if (parameter.required && !parameter.schema?.enum) parameter.example ??= example;
    if (parameter.schema) Object.assign(parameter.schema, { ...limitsOf(parameter.schema), ...parameter.schema });
  }
  for (const response of Object.values(operation.responses)) response.description ||= 'It was done.';
  operation.responses['default'] = refusal('What went wrong.');
  const schema = operation.requestBody?.content?.['application/json']?.schema?.$ref;
  // A handler whose body is not even looked at says itself that it may be missing.
  if (schema && operation.requestBody && operation.requestBody.required !== false) {
    operation.requestBody.required = operation[needsBody] === true || hasRequiredMembers(document, schema);
  }
  delete operation[needsBody];
}

const refusal = (description: string): Operation['responses'][string] => ({
  description,
  content: { 'application/json': { schema: { $ref: getSchemaPath(ErrorDto) } } },
});

/** The statuses that callers tell apart; all others are the default. What a handler says itself stays. */
function tellRefusals(operation: Operation, name: string, path: string): void {
  const takes = operation.requestBody !== undefined || (operation.parameters ?? []).length > 0;
  const told = {
    ...(takes && { 400: 'What was sent breaks a rule.' }),
    ...(isGuarded(path) && { 401: 'It is not known who calls.', 403: 'The caller may not do this.' }),
    ...refusals[name],
  };
  for (const [status, when] of Object.entries(told)) operation.responses[status] ??= refusal(when);
}

/**
 * Limits of a parameter with a name of its own, which InputPipe applies; those of a class say their limits themselves.
 */
function limitsOf({ type, enum: words }: SimpleSchema): SimpleSchema {
  if (type === 'number' || type === 'integer') return { minimum: -lastMillis, maximum: lastMillis };
  return type === 'string' && !words ? { maxLength: longestText.path } : {};
}

/** A body without required members may be missing, unless its operation says otherwise. */
function hasRequiredMembers(document: OpenAPIObject, reference: string): boolean {
  const schema = document.components?.schemas?.[reference.split('/').at(-1)!];
  return schema !== undefined && 'required' in schema && (schema.required?.length ?? 0) > 0;
}

/** Extension that carries the path in the served document, until it is written. */
const shownAt = 'x-shown-at';

/** On a handler whose path settings decide: where the served document shows it, such as "/{uiPath}". */
export const ShownAt = (path: string) => ApiExtension(shownAt, path);

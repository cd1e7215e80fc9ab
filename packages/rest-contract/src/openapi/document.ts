import type { AnyContract, PrefixMember } from '../contract/types.js';
import { pathTemplate, type Route, routesOf } from '../server/routes.js';
import { withDiscriminators } from './discriminators.js';
import { operationObject } from './operation.js';
import { DocumentError, Schemas } from './schemas.js';
import { toVersion31 } from './version-31.js';
import type { InfoObject, OpenApiDocument, OperationObject } from './types.js';

export interface DocumentOptions {
  readonly info: InfoObject;
  /** 3.0 unless given. In 3.1 schemas are those of JSON Schema, for tools that read nothing else. */
  readonly version?: '3.0' | '3.1';
  readonly servers?: { url: string; description?: string }[];
  readonly tags?: { name: string; description?: string }[];
  readonly securitySchemes?: Record<string, Record<string, unknown>>;
  readonly security?: Record<string, string[]>[];
  /**
   * Types by their names in the program, `import * as types from './types.js'`: each that the contract uses becomes a
   * component of that name. `named` and a type's own id come first.
   */
  readonly types?: Readonly<Record<string, unknown>>;
  /** Hears where records without a name are written out; console.warn unless given. */
  readonly onUnnamed?: (places: readonly string[]) => void;
  /** Transforms every operation object, after its own `adjust`. */
  readonly adjustOperation?: (operation: OperationObject) => OperationObject;
}

/** The OpenAPI document of a contract, also of one that describes a service with rules of precedence of its own. */
export function openapi(contract: AnyContract, options: DocumentOptions): OpenApiDocument {
  const schemas = new Schemas(options.types);
  const paths: OpenApiDocument['paths'] = {};
  const templates = new Map<string, string>();
  const ids = new Map<string, number>();
  for (const route of routesOf(contract)) {
    const template = documentedPath(route, templates);
    const made = operationObject(route, tagsOf(route), uniqueId(route, ids), parameterNames(route, template), schemas);
    const operation = options.adjustOperation ? options.adjustOperation(made) : made;
    const methods = (paths[template] ??= {});
    const method = route.operation.method.toLowerCase();
    // What is alike up to here is one operation to readers. A fixed segment beside a parameter is two: OpenAPI has it come first.
    if (methods[method])
      throw new DocumentError(`${route.where}: another operation is ${method.toUpperCase()} ${template}, too`);
    methods[method] = operation;
  }
  const { info, servers, tags, security, securitySchemes } = options;
  const hasSchemas = Object.keys(schemas.named).length > 0;
  if (schemas.unnamed.size > 0) (options.onUnnamed ?? warn)([...schemas.unnamed]);
  const document = withDiscriminators({
    openapi: '3.0.3',
    info,
    ...(servers && { servers }),
    ...(tags && { tags }),
    ...(security && { security }),
    paths,
    ...((hasSchemas || securitySchemes) && {
      components: { ...(hasSchemas && { schemas: schemas.named }), ...(securitySchemes && { securitySchemes }) },
    }),
  });
  return options.version === '3.1' ? toVersion31(document) : document;
}

const warn = (places: readonly string[]) =>
  console.warn(
    `OpenAPI: records without a name are written out where they stand. Name them with the option types, named(type, name) or an id:\n  ${places.join('\n  ')}`,
  );

/** Paths that differ only in parameter names are one path in OpenAPI: the first one's names stand for all. */
function documentedPath(route: Route, templates: Map<string, string>): string {
  const shape = `/${route.pattern.map((part) => (typeof part === 'string' ? part : '{}')).join('/')}`;
  const known = templates.get(shape);
  if (known !== undefined) return known;
  const template = uniqueNames(pathTemplate(route));
  templates.set(shape, template);
  return template;
}

/** A prefix and an operation may both call a parameter `id`. */
function uniqueNames(template: string): string {
  const seen = new Map<string, number>();
  return template.replace(/\{([^}]*)\}/g, (_all, name: string) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return `{${count === 1 ? name : name + count}}`;
  });
}

const parameterNames = (route: Route, template: string): string[] =>
  route.pattern.length === 0 ? [] : [...template.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name ?? '');

/** The nearest prefix that says something: its tags, else its name, unless it is transparent. */
function tagsOf({ prefixes, operation }: Route): readonly string[] {
  if (operation.options.tags) return operation.options.tags;
  const describing = prefixes.findLast((prefix) => prefix.options.tags !== undefined || !isTransparent(prefix));
  return describing ? (describing.options.tags ?? [describing.name]) : [];
}

const isTransparent = ({ segments, slots }: PrefixMember) => segments.length === 0 && slots.length === 0;

function uniqueId(route: Route, ids: Map<string, number>): string {
  const id = [...route.prefixes, route.operation].map(({ name }) => name).join('_');
  const count = (ids.get(id) ?? 0) + 1;
  ids.set(id, count);
  return count === 1 ? id : `${id}_${count}`;
}

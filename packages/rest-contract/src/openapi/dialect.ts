import type { JsonSchema } from './types.js';

// JSON Schema (draft 7) written as OpenAPI 3.0 wants it: one type each, `nullable`, boolean exclusive bounds.

const REFERENCE = /^#\/(?:definitions|\$defs)\/(.+)$/;

/** Deep copy in OpenAPI's dialect; `rename` says where a definition of the document went. */
export function toOpenApi(schema: unknown, rename: (definition: string | undefined) => string): JsonSchema {
  const convert = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(convert);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, one]) => [
      key,
      isData(key) ? one : key === 'properties' ? members(one as object) : convert(one),
    ]);
    return keywords(Object.fromEntries(entries) as Record<string, unknown>);
  };
  /** Names of members, which may be those of keywords. */
  const members = (value: object) =>
    Object.fromEntries(Object.entries(value).map(([name, one]) => [name, convert(one)] as const));
  const keywords = (from: Record<string, unknown>): JsonSchema => {
    const { $schema: _dialect, definitions: _definitions, $defs: _defs, $ref, const: only, ...rest } = from;
    if (typeof $ref === 'string') return withReference(rename(definitionOf($ref)), rest);
    const to: JsonSchema = { ...rest };
    if ('const' in from) to.enum = [only];
    if (only === null && 'const' in from) to.nullable = true;
    exclusive(to, 'exclusiveMinimum', 'minimum');
    exclusive(to, 'exclusiveMaximum', 'maximum');
    nullable(to);
    return to;
  };
  return convert(schema) as JsonSchema;
}

/** Examples, defaults and enumerated values are data, whatever their members are called. */
export const isData = (key: string) =>
  key === 'default' || key === 'enum' || key === 'example' || key === 'examples' || key === 'const';

function definitionOf(reference: string): string | undefined {
  if (reference === '#') return undefined;
  const name = REFERENCE.exec(reference)?.[1];
  return name === undefined ? reference : decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Beside a `$ref` nothing counts in OpenAPI 3.0, so company goes around it. */
export function withReference(reference: string, beside: JsonSchema): JsonSchema {
  if (Object.keys(beside).length === 0) return { $ref: reference };
  const parts = Array.isArray(beside.allOf) ? beside.allOf : [];
  return { ...beside, allOf: [...parts, { $ref: reference }] };
}

function exclusive(schema: JsonSchema, keyword: string, bound: string): void {
  if (typeof schema[keyword] !== 'number') return;
  schema[bound] = schema[keyword];
  schema[keyword] = true;
}

function nullable(schema: JsonSchema): void {
  const type: unknown = schema.type;
  if (type === 'null') {
    delete schema.type;
    Object.assign(schema, { nullable: true, enum: [null] });
  } else if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null');
    if (types.length < type.length) schema.nullable = true;
    delete schema.type;
    if (types.length === 1) schema.type = types[0] as string;
    else schema.anyOf = types.map((one) => ({ type: one as string }));
  }
}

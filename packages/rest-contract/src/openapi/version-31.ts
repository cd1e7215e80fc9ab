import { isData } from './dialect.js';
import type { JsonSchema, OpenApiDocument } from './types.js';

/** Converts a document to OpenAPI 3.1: JSON Schema of 2020, with `null` as a type and numbers as exclusive bounds. */
export function toVersion31(document: OpenApiDocument): OpenApiDocument {
  const visit = (value: unknown, areMembers = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => visit(one));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(
      ([key, one]) =>
        [key, !areMembers && isData(key) ? one : visit(one, !areMembers && key === 'properties')] as const,
    );
    const copy = Object.fromEntries(entries) as JsonSchema;
    return areMembers ? copy : withNull(withBounds(copy));
  };
  return { ...(visit(document) as OpenApiDocument), openapi: '3.1.0' };
}

function withBounds(schema: JsonSchema): JsonSchema {
  const to = { ...schema };
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'] as const,
    ['exclusiveMaximum', 'maximum'] as const,
  ]) {
    if (to[exclusive] !== true) continue;
    to[exclusive] = to[bound];
    delete to[bound];
  }
  return to;
}

const none: JsonSchema = { type: 'null' };

function withNull({ nullable, ...schema }: JsonSchema): JsonSchema {
  if (nullable === undefined) return schema;
  if (nullable !== true) return schema;
  const { type, enum: words } = schema;
  if (Array.isArray(words) && words.every((word) => word === null)) return none;
  if (typeof type === 'string') {
    const withWord = Array.isArray(words) && !words.includes(null) ? { enum: [...(words as unknown[]), null] } : {};
    return { ...schema, type: [type, 'null'], ...withWord };
  }
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...(schema.anyOf as JsonSchema[]), none] };
  // What is told apart by a member, or referred to, has none of its own for null. Without a type it may be null anyway.
  return schema.oneOf || schema.allOf || schema.$ref ? { anyOf: [schema, none] } : schema;
}

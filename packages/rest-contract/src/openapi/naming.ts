import type { Shape } from '../contract/shapes.js';
import type { JsonSchema } from './types.js';

// What documents say about a type is kept beside it: the type itself stays as its library made it.

type Change = (schema: JsonSchema) => JsonSchema;
const names = new WeakMap<object, string>();
const changes = new WeakMap<object, readonly Change[]>();
const written = new WeakMap<object, JsonSchema>();

/** Says under which name a type stands in OpenAPI documents; returns the same type. */
export function named<T extends Shape>(type: T, name: string): T {
  names.set(type, name);
  return type;
}

/** Transforms a type's schema wherever it is documented; returns the same type. */
export function adjustSchema<T extends Shape>(type: T, change: Change): T {
  changes.set(type, [...changesOf(type), change]);
  return type;
}

/** `adjustSchema` for the commonest change. */
export const describe = <T extends Shape>(type: T, description: string): T =>
  adjustSchema(type, (schema) => ({ ...schema, description }));

/** States a type's schema: for libraries that tell none, and formats of one's own. Returns the same type. */
export function withSchema<T extends Shape>(type: T, schema: JsonSchema): T {
  written.set(type, schema);
  return type;
}

export const nameOf = (type: object): string | undefined => names.get(type);
export const changesOf = (type: object): readonly Change[] => changes.get(type) ?? [];
export const writtenSchemaOf = (type: object): JsonSchema | undefined => written.get(type);

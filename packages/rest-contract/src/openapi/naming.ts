import type { StandardSchema } from '../codec/standard-schema.js';
import type { Shape } from '../codec/shape.js';
import type { JsonSchema } from './types.js';

// What documents say about a type is kept beside it: the type itself stays as its library made it.

type Change = (schema: JsonSchema) => JsonSchema;
const names = new WeakMap<object, string>();
const changes = new WeakMap<object, readonly Change[]>();
const originals = new WeakMap<object, Shape>();
const written = new WeakMap<object, JsonSchema>();

/** Says under which name a type stands in OpenAPI documents; returns the same type. */
export function named<T extends Shape>(type: T, name: string): T {
  names.set(type, name);
  return type;
}

/**
 * A copy of a type whose schema is transformed where the copy is documented. The type itself is described as before; a type with a
 * name is referred to, and what the copy changes stands around the reference.
 */
export function adjustSchema<T extends Shape>(type: T, change: Change): T {
  const copy = copyOf(type);
  originals.set(copy, type);
  changes.set(copy, [change]);
  return copy;
}

/** zod keeps what it knows of a schema by the schema itself, so a copy has to be made by zod. */
const copyOf = <T extends Shape>(type: T): T => {
  const { clone } = type as { clone?: () => T };
  return isCloneable(type) && clone ? clone.call(type) : new Proxy(type, {});
};
const isCloneable = (type: object): boolean =>
  (type as Partial<StandardSchema>)['~standard']?.vendor === 'zod' && 'clone' in type;

/** `adjustSchema` for the commonest change: a copy, too. */
export const describe = <T extends Shape>(type: T, description: string): T =>
  adjustSchema(type, (schema) => ({ ...schema, description }));

/** States a type's schema: for libraries that tell none, and formats of one's own. Returns the same type. */
export function withSchema<T extends Shape>(type: T, schema: JsonSchema): T {
  written.set(type, schema);
  return type;
}

/** Original of a copy. */
export const originalOf = (type: object): Shape | undefined => originals.get(type);
export const nameOf = (type: object): string | undefined => names.get(type);
export const changesOf = (type: object): readonly Change[] => changes.get(type) ?? [];
export const writtenSchemaOf = (type: object): JsonSchema | undefined => written.get(type);

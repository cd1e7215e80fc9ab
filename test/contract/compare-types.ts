import type { Schema, Schemas } from './document.js';

const simple: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  'string(byte)': { type: 'string', format: 'byte' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number' },
  object: { type: 'object' },
};

/** Members of a schema that are not as the contract's type says; empty: all are. */
export function compareTypes(type: string, served: Schema | undefined, schemas: Schemas): string[] {
  if (served === undefined) return [`is not described, instead of ${type}`];
  const { name, schema } = schemas.resolve(served);
  const list = /^(?:array|set) of (.+)$/.exec(type);
  if (list) return compareParts('array', schema.items, list[1]!, schema, schemas);
  const map = /^map string to (.+)$/.exec(type);
  if (map) {
    if (schema.additionalProperties === true && map[1] === 'object') return [];
    const values = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
    return compareParts('object', values, map[1]!, schema, schemas);
  }
  if (type.includes(' / ')) return compareWords(type.split(' / '), schema);
  const wanted = simple[type];
  if (!wanted) return name !== undefined && name === schemas.nameOf(type) ? [] : [`is ${show(served)}, not ${type}`];
  const same = schema.type === wanted.type && (wanted.format === undefined || schema.format === wanted.format);
  return same ? [] : [`is ${show(served)}, not ${type}`];
}

function compareParts(
  kind: 'array' | 'object',
  parts: Schema | undefined,
  type: string,
  schema: Schema,
  schemas: Schemas,
): string[] {
  if (schema.type !== kind) return [`is ${show(schema)}, not ${kind === 'array' ? 'a list' : 'a map'}`];
  return compareTypes(type, parts, schemas).map((difference) => `(its parts) ${difference}`);
}

function compareWords(words: readonly string[], schema: Schema): string[] {
  if (schema.type !== 'string' || !schema.enum) return [`is ${show(schema)}, not one of ${words.join(', ')}`];
  const missing = words.filter((word) => !schema.enum!.includes(word));
  return missing.length > 0 ? [`lacks the words ${missing.join(', ')}`] : [];
}

const show = ({ $ref, type, format, allOf }: Schema): string =>
  $ref?.split('/').at(-1) ?? (allOf ? show(allOf[0]!) : [type ?? 'anything', format].filter(Boolean).join(' '));

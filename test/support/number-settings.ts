import { z } from 'zod';

interface Schema {
  type?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  items?: Schema;
  additionalProperties?: Schema;
  properties?: Record<string, Schema>;
  anyOf?: Schema[];
}

/** A number that can be set. */
export interface NumberSetting extends Schema {
  /** Keys from the outermost section on; those of lists and maps are left out. */
  path: string[];
  name: string;
  /** True if it is a member of a list or a map. */
  isInList: boolean;
}

/** Every number in a schema of settings, as callers may write it. */
export const numberSettings = (schema: z.ZodType): NumberSetting[] => [
  ...numbers([], z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema, false),
];

function* numbers(path: string[], schema: Schema, isInList: boolean): Generator<NumberSetting> {
  if (schema.type === 'number' || schema.type === 'integer') {
    yield { ...schema, path, name: path.join('.'), isInList };
  }
  for (const inner of [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])])
    if (typeof inner === 'object') yield* numbers(path, inner, isInList || !schema.anyOf);
  for (const [key, inner] of Object.entries(schema.properties ?? {})) yield* numbers([...path, key], inner, isInList);
}

const units: [RegExp, number][] = [
  [/Days$/, 86_400_000],
  [/Hours$/, 3_600_000],
  [/Minutes$|^minutes/, 60_000],
  [/Seconds$/, 1_000],
  [/(Millis|Ms|Expiration)$|Millis[A-Z]/, 1],
];

/** Milliseconds of the unit that its name says; undefined: it is no time. */
export const millisOfUnit = ({ path }: NumberSetting): number | undefined =>
  units.find(([pattern]) => pattern.test(path.at(-1)!))?.[1];

import { isData } from './dialect.js';
import type { JsonSchema, OpenApiDocument } from './types.js';

type Components = Readonly<Record<string, JsonSchema>>;

/**
 * Says of each union whose members all state another text in the same required member that this member tells them apart: they
 * exclude each other then, so that it is `oneOf`, which generators of clients need to make a union of them.
 * Found in the finished document, so that it does not matter which library the union is of, nor where its members stand.
 */
export function withDiscriminators(document: OpenApiDocument): OpenApiDocument {
  const components = document.components?.schemas ?? {};
  const visit = (value: unknown, areMembers = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => visit(one));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(
      ([key, one]) =>
        [key, !areMembers && isData(key) ? one : visit(one, !areMembers && key === 'properties')] as const,
    );
    const copy = Object.fromEntries(entries);
    return areMembers ? copy : discriminated(copy, components);
  };
  return visit(document) as OpenApiDocument;
}

/** Most libraries write a union as `anyOf`, though its members exclude each other. */
const membersOf = ({ oneOf, anyOf }: JsonSchema): readonly JsonSchema[] | undefined => {
  const members = oneOf ?? anyOf;
  return Array.isArray(members) ? (members as JsonSchema[]) : undefined;
};

function discriminated(schema: JsonSchema, components: Components): JsonSchema {
  const members = membersOf(schema);
  if (!members || members.length < 2) return schema;
  const stated = schema.discriminator as { propertyName?: string; mapping?: object } | undefined;
  if (stated?.mapping) return schema;
  const name = stated?.propertyName ?? distinguishingMember(members, components);
  if (name === undefined) return schema;
  const mapping: Record<string, string> = {};
  for (const member of members) {
    const reference = member.$ref ?? asList(member.allOf).find(({ $ref }) => $ref !== undefined)?.$ref;
    if (reference === undefined) continue;
    for (const value of statedValues(member, name, components) ?? []) mapping[String(value)] = reference;
  }
  const discriminator = { propertyName: name, ...(Object.keys(mapping).length > 0 && { mapping }) };
  const { anyOf: _anyOf, ...rest } = schema;
  return { ...rest, oneOf: members, discriminator };
}

/** The first member of the records by whose text they can be told apart. */
function distinguishingMember(members: readonly JsonSchema[], components: Components): string | undefined {
  const [first] = members;
  return first && memberNames(first, components).find((name) => distinguishes(name, members, components));
}

function distinguishes(name: string, members: readonly JsonSchema[], components: Components): boolean {
  const seen = new Set<unknown>();
  return members.every((member) => {
    const values = statedValues(member, name, components);
    if (!values || values.length === 0) return false;
    const isNew = values.every((value) => typeof value === 'string' && !seen.has(value));
    for (const value of values) seen.add(value);
    return isNew;
  });
}

/** References may lead in circles; no type is as deep as this. */
const MAX_DEPTH = 16;

function memberNames(schema: JsonSchema, components: Components, depth = 0): string[] {
  const whole = resolved(schema, components);
  if (!whole || depth > MAX_DEPTH) return [];
  const parts = [...asList(whole.allOf), ...(membersOf(whole) ?? []).slice(0, 1)];
  return [
    ...Object.keys((whole.properties as object | undefined) ?? {}),
    ...parts.flatMap((part) => memberNames(part, components, depth + 1)),
  ];
}

/** The values a required member may have by this schema, if it names them; of a union, those of all its members. */
function statedValues(
  schema: JsonSchema,
  name: string,
  components: Components,
  depth = 0,
): readonly unknown[] | undefined {
  const whole = resolved(schema, components);
  if (!whole || depth > MAX_DEPTH) return undefined;
  const inner = membersOf(whole);
  if (inner) {
    const values = inner.map((member) => statedValues(member, name, components, depth + 1));
    return values.some((one) => one === undefined) ? undefined : values.flatMap((one) => one ?? []);
  }
  const property = (whole.properties as Record<string, JsonSchema> | undefined)?.[name];
  if (property && asList<unknown>(whole.required).includes(name)) {
    const values = resolved(property, components)?.enum;
    return Array.isArray(values) ? (values as unknown[]) : undefined;
  }
  for (const part of asList<JsonSchema>(whole.allOf)) {
    const values = statedValues(part, name, components, depth + 1);
    if (values) return values;
  }
  return undefined;
}

const asList = <T = JsonSchema>(value: unknown): readonly T[] => (Array.isArray(value) ? (value as T[]) : []);

function resolved(schema: JsonSchema, components: Components): JsonSchema | undefined {
  let at: JsonSchema | undefined = schema;
  for (let hops = 0; at?.$ref !== undefined; hops += 1) {
    if (hops > MAX_DEPTH) return undefined;
    at = components[at.$ref.slice('#/components/schemas/'.length)];
  }
  return at;
}

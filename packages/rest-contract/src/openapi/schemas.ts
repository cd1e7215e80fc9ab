import { sameDocument } from './equal.js';
import { isCodec } from '../codec/codec.js';
import { isStandardSchema, type StandardSchema } from '../codec/standard-schema.js';
import { ownCodecs } from '../codec/rules.js';
import type { Shape } from '../codec/shape.js';
import { toOpenApi, withReference } from './dialect.js';
import { changesOf, nameOf, originalOf, writtenSchemaOf } from './naming.js';
import type { JsonSchema } from './types.js';

/** A document that cannot be made: two types of one name, or a type that tells no schema. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';
}

/** Collects the named schemas of a document; everything with a name is written once and referred to. */
export class Schemas {
  readonly named: Record<string, JsonSchema> = {};
  /** Places of records without a name, which are written out there. */
  readonly unnamed = new Set<string>();
  private readonly owners = new Map<string, object>();
  private readonly given = new Map<unknown, string>();
  private anonymous = 0;

  /** `types`: types by the names they have in the program. */
  constructor(types: Readonly<Record<string, unknown>> = {}) {
    for (const [name, type] of Object.entries(types)) {
      if ((isStandardSchema(type) || isCodec(type)) && !this.given.has(type)) this.given.set(type, name);
    }
  }

  /** The schema of a type where it is used: a reference if it has a name. `where` is for complaints. */
  of(type: Shape, where: string): JsonSchema {
    const name = this.nameOf(type);
    if (name === undefined) {
      const schema = adjust(this.plain(type, where), changesOf(type));
      this.note(schema, where);
      return schema;
    }
    const reference = `#/components/schemas/${name}`;
    const owner = this.owners.get(name);
    if (owner === type) return { $ref: reference };
    if (owner) throw twice(name);
    this.owners.set(name, type);
    // Before its content is known, so that a type that contains itself finds its own name.
    const before = this.named[name];
    const content = this.plain(type, where);
    // zod's own `id` for it may be the same name: then it is there already.
    const schema = adjust(content.$ref === reference ? (this.named[name] ?? {}) : content, changesOf(type));
    if (before && !sameDocument(before, schema)) throw twice(name);
    this.named[name] = schema;
    this.noteInside(schema, name);
    return { $ref: reference };
  }

  /** Said by `named`, else by its library (an id), else the name it has in the program. */
  private nameOf(type: object): string | undefined {
    if (originalOf(type)) return nameOf(type);
    return nameOf(type) ?? (idOf(type) === undefined ? (this.given.get(type) ?? classNameOf(type)) : undefined);
  }

  private note(schema: JsonSchema, where: string): void {
    if (isRecord(schema)) this.unnamed.add(where);
    this.noteInside(schema, where);
  }

  private noteInside(schema: JsonSchema, where: string): void {
    for (const [name, property] of Object.entries((schema.properties as Record<string, JsonSchema>) ?? {})) {
      this.note(property, `${where}.${name}`);
    }
    const inner = [schema.items, schema.additionalProperties, schema.oneOf, schema.anyOf, schema.allOf].flat();
    for (const one of inner) if (typeof one === 'object' && one !== null) this.note(one as JsonSchema, where);
  }

  private add(name: string, schema: JsonSchema): void {
    const before = this.named[name];
    if (before && !sameDocument(before, schema)) throw twice(name);
    this.named[name] = schema;
  }

  private plain(type: Shape, where: string): JsonSchema {
    const written = writtenSchemaOf(type);
    if (written) return written;
    const original = originalOf(type);
    if (original) return this.of(original, where);
    if (isCodec(type)) {
      const { schema, inner } = type.docs;
      if (schema) return schema;
      if (!inner) throw new DocumentError(`${where} has a codec without a schema: give it one, or call withSchema`);
      const element = this.of(inner.type as Shape, where);
      return inner.list ? { type: 'array', items: element } : element;
    }
    const own = ownCodecs(type).find((codec) => codec.docs.schema ?? codec.docs.inner);
    return own ? this.plain(own, where) : this.ofLibrary(type, where);
  }

  private ofLibrary(type: StandardSchema, where: string): JsonSchema {
    const raw = this.ask(type, where);
    const definitions = { ...(raw.definitions as object), ...(raw.$defs as object) } as Record<string, unknown>;
    const places = new Map<string | undefined, string>();
    for (const name of Object.keys(definitions)) {
      places.set(name, name.startsWith('__schema') ? `Anonymous${(this.anonymous += 1)}` : name);
    }
    const refersToItself = JSON.stringify(raw).includes('"$ref":"#"');
    const ownName = refersToItself ? (this.nameOf(type) ?? `Anonymous${(this.anonymous += 1)}`) : undefined;
    places.set(undefined, ownName ?? '');
    const rename = (definition: string | undefined) =>
      definition?.startsWith('#/components/')
        ? definition
        : `#/components/schemas/${places.get(definition) ?? definition}`;
    for (const [name, definition] of Object.entries(definitions)) {
      const place = places.get(name) ?? name;
      const schema = toOpenApi(definition, rename);
      if (place !== name) this.unnamed.add(where);
      this.noteInside(schema, place);
      this.add(place, schema);
    }
    const schema = toOpenApi(raw, rename);
    if (ownName === undefined || this.nameOf(type) !== undefined) return schema;
    this.unnamed.add(where);
    this.noteInside(schema, where);
    this.add(ownName, schema);
    return { $ref: `#/components/schemas/${ownName}` };
  }

  private ask(type: StandardSchema, where: string): Record<string, unknown> {
    const report = type['~standard'].jsonSchema?.input;
    if (!report) {
      throw new DocumentError(`${where} has a schema that tells no JSON Schema: say what it is with withSchema`);
    }
    const libraryOptions = { unrepresentable: 'any', override: (at: VisitedSchema) => this.visit(type, at, where) };
    for (const target of ['openapi-3.0', 'draft-07']) {
      try {
        return report({ target, libraryOptions });
      } catch (cause) {
        if (cause instanceof DocumentError) throw cause;
        if (target === 'draft-07') throw new DocumentError(`${where}: ${(cause as Error).message}`, { cause });
      }
    }
    return {};
  }

  /** zod calls this for every schema inside: there `named` and `adjustSchema` count as well as at the top. */
  private visit(root: object, { zodSchema, jsonSchema }: VisitedSchema, where: string): void {
    const kind = zodSchema._zod?.def?.type;
    if (kind === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
    if (kind === 'bigint') Object.assign(jsonSchema, { type: 'integer', format: 'int64' });
    // A schema's own default is its author's affair; what readers may rely on is said with whenAbsent.
    if (kind === 'default' || kind === 'prefault') delete jsonSchema.default;
    const discriminator = zodSchema._zod?.def?.discriminator;
    if (discriminator !== undefined) jsonSchema.discriminator = { propertyName: discriminator };
    const name = this.nameOf(zodSchema);
    const isCopy = originalOf(zodSchema) !== undefined;
    if (zodSchema === root || (name === undefined && !isCopy)) return;
    const schema = this.of(zodSchema as unknown as Shape, where);
    const copy = { ...schema };
    for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
    Object.assign(jsonSchema, copy);
  }
}

interface VisitedSchema {
  readonly zodSchema: {
    readonly _zod?: { readonly def?: { readonly type?: string; readonly discriminator?: string } };
  };
  readonly jsonSchema: JsonSchema;
}

/** zod gives such a type a name of its own accord. */
function idOf(type: object): string | undefined {
  const { meta } = type as { meta?: unknown };
  return typeof meta === 'function' ? (meta.call(type) as { id?: string } | undefined)?.id : undefined;
}

/** Name of a type that is a class, as some libraries have them. */
const classNameOf = (type: object): string | undefined =>
  typeof type === 'function' && /^class\b/.test(Function.prototype.toString.call(type)) && type.name !== ''
    ? type.name
    : undefined;

/** A record, or a union of records that a member tells apart. */
const isRecord = ({ properties, discriminator }: JsonSchema): boolean =>
  discriminator !== undefined || (typeof properties === 'object' && Object.keys(properties ?? {}).length > 0);

const twice = (name: string) => new DocumentError(`Two types are named '${name}' in one document`);

/** A reference is adjusted by what stands beside it in an `allOf`; what it refers to stays as it is for the others. */
export function adjust(schema: JsonSchema, changes: readonly ((schema: JsonSchema) => JsonSchema)[]): JsonSchema {
  if (changes.length === 0) return schema;
  const { $ref } = schema;
  const start: JsonSchema = $ref === undefined ? schema : withReference($ref, { allOf: [] });
  return changes.reduce((before, change) => change(before), start);
}

import type { Document, Operation, Schema } from './document.js';

export interface Comparison {
  /** By operation ("GET /api/state") or record: what differs. */
  differences: string[];
  /** Operations of the served document, as they are called there. */
  operations: string[];
  records: number;
  fields: number;
}

/** Records whose name in the client is not that of the served document: there it is also that of an enumeration. */
const otherNames: Readonly<Record<string, string>> = { TaskStateDto: 'SchedulerTaskState' };
const bare = (served: string): string => otherNames[served] ?? served.replace(/Dto$/, '');

/** Holds what a client knows of an API against what is served, in both directions. Bounds, defaults and texts do not count. */
export function compareDocuments(served: Document, client: Document, leftOut: readonly string[]): Comparison {
  const compare = new Comparing(served, client);
  const [theirs, ours] = [operationsOf(served), operationsOf(client)];
  for (const [shape, { name, path, operation }] of theirs) {
    const own = ours.get(shape);
    if (own) compare.operation(name, path === own.path, operation, own.operation, leftOut.includes(name));
    else compare.note(name, 'is not in the client');
  }
  for (const [shape, { name }] of ours) if (!theirs.has(shape)) compare.note(name, 'is not served');
  const fields = compare.records();
  return {
    differences: compare.differences,
    operations: [...theirs.values()].map(({ name }) => name),
    records: Object.keys(served.components.schemas).length,
    fields,
  };
}

interface Found {
  name: string;
  path: string;
  operation: Operation;
}

/** By method and path; that a parameter of the path has another name makes it no other operation. */
const operationsOf = ({ paths }: Document): Map<string, Found> =>
  new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Found] => [
        `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`,
        { name: `${method.toUpperCase()} ${path}`, path, operation },
      ]),
    ),
  );

class Comparing {
  readonly differences: string[] = [];

  constructor(
    private readonly served: Document,
    private readonly client: Document,
  ) {}

  note(where: string, what: string): void {
    this.differences.push(`${where}: ${what}`);
  }

  operation(name: string, isSamePath: boolean, theirs: Operation, ours: Operation, isBodyLeftOut: boolean): void {
    this.parameters(name, isSamePath, theirs, ours);
    const [theirBody, ourBody] = [theirs.requestBody, ours.requestBody];
    if (theirBody && !ourBody && !isBodyLeftOut) this.note(name, 'has no body in the client');
    if (!theirBody && ourBody) this.note(name, 'has a body in the client only');
    if (theirBody && ourBody) {
      if (!!theirBody.required !== !!ourBody.required) this.note(name, `body ${required(theirBody.required)}`);
      const [their, our] = [theirBody, ourBody].map(({ content }) => content?.['application/json']?.schema);
      this.schemas(`${name}: body`, their, our);
    }
    this.answer(name, theirs, ours);
  }

  private parameters(name: string, isSamePath: boolean, theirs: Operation, ours: Operation): void {
    let position = 0;
    const keyed = ({ parameters = [] }: Operation) =>
      new Map(
        parameters.map((one) => {
          const byPosition = one.in === 'path' && !isSamePath;
          return [byPosition ? `path ${position++}` : `${one.in} ${one.name.toLowerCase()}`, one] as const;
        }),
      );
    const their = keyed(theirs);
    position = 0;
    const our = keyed(ours);
    for (const [key, parameter] of their) {
      const own = our.get(key);
      if (!own) this.note(name, `parameter ${key} is not in the client`);
      else {
        if (!!parameter.required !== !!own.required)
          this.note(name, `parameter ${key} ${required(parameter.required)}`);
        this.schemas(`${name}: parameter ${key}`, parameter.schema, own.schema);
      }
    }
    for (const key of our.keys()) if (!their.has(key)) this.note(name, `parameter ${key} is not served`);
  }

  private answer(name: string, theirs: Operation, ours: Operation): void {
    const [their = {}, our = {}] = [theirs, ours].map(
      ({ responses }) => Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {},
    );
    const types = (content: object) => Object.keys(content).toSorted().join(', ') || 'nothing';
    if (types(their) !== types(our)) this.note(name, `answers ${types(their)}, in the client ${types(our)}`);
    this.schemas(`${name}: answer`, their['application/json']?.schema, our['application/json']?.schema);
  }

  /** Every record, in both directions; how many fields there are. */
  records(): number {
    const ours = this.client.components.schemas;
    const names = new Set(Object.keys(this.served.components.schemas).map(bare));
    // Words need no name there.
    for (const [name, schema] of Object.entries(ours))
      if (!names.has(name) && !schema.enum) this.note(name, 'is not served');
    let count = 0;
    for (const [served, their] of Object.entries(this.served.components.schemas)) {
      const name = bare(served);
      const our = ours[name];
      if (!our) this.note(name, 'is not in the client');
      else if (their.enum || our.enum) this.schemas(name, their, our);
      else count += this.fields(name, their, our);
    }
    return count;
  }

  private fields(name: string, theirs: Schema, ours: Schema): number {
    const { properties: their = {}, required: needed = [] } = theirs;
    const { properties: our = {}, required: ourNeeded = [] } = ours;
    for (const [field, schema] of Object.entries(their)) {
      const where = `${name}.${field}`;
      if (!our[field]) this.note(where, 'is not in the client');
      else {
        if (needed.includes(field) !== ourNeeded.includes(field)) this.note(where, required(needed.includes(field)));
        this.schemas(where, schema, our[field]);
      }
    }
    for (const field of Object.keys(our)) if (!their[field]) this.note(`${name}.${field}`, 'is not served');
    return Object.keys(their).length;
  }

  private schemas(where: string, theirs: Schema | undefined, ours: Schema | undefined): void {
    const [their, our] = [typeOf(theirs, this.served, bare), typeOf(ours, this.client, (name) => name)];
    if (their !== our) this.note(where, `is ${their}, in the client ${our}`);
  }
}

const required = (isRequired: boolean | undefined): string =>
  isRequired ? 'is required, not so in the client' : 'is not required, but is in the client';

/** A type in words, the same for both ways to write it down: an enumeration counts by its words, a record by its name. */
function typeOf(schema: Schema | undefined, document: Document, nameOf: (served: string) => string): string {
  if (schema === undefined) return 'nothing';
  if (schema.allOf?.length === 1) return typeOf(schema.allOf[0], document, nameOf);
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1)!;
    const target = document.components.schemas[name];
    return target?.enum ? typeOf(target, document, nameOf) : nameOf(name);
  }
  if (schema.anyOf) return wordsOf(schema.anyOf.flatMap((part) => resolve(part, document).enum ?? ['?']));
  if (schema.enum) return wordsOf(schema.enum);
  if (schema.type === 'array') return `list of ${typeOf(schema.items, document, nameOf)}`;
  if (schema.type === 'object') {
    const { additionalProperties: values } = schema;
    return `map of ${typeof values === 'object' ? typeOf(values, document, nameOf) : 'anything'}`;
  }
  // Where a record may hold text, numbers, lists and so on, nothing is said about it in the client.
  if (schema.oneOf || schema.type === undefined) return 'anything';
  return schema.type === 'number' ? 'number' : `${schema.type} ${schema.format ?? ''}`.trim();
}

const resolve = (schema: Schema, document: Document): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1)!] ?? {});

const wordsOf = (words: readonly unknown[]): string =>
  `one of ${[...new Set(words.map(String))].toSorted().join(', ')}`;

/** As much of an OpenAPI document as the walk looks at. */
export interface Document {
  servers?: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema?: Schema; 'x-since'?: string }[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema }> };
  'x-since'?: string;
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  type?: string;
  format?: string;
  enum?: unknown[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  uniqueItems?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
  writeOnly?: boolean;
  default?: unknown;
  maximum?: number;
  'x-since'?: string;
}

/** Schemas by the names that the contract gives to records. */
export class Schemas {
  constructor(private readonly all: Record<string, Schema>) {}

  /** The name in the document of a record: with or without "Scheduler" before and "Dto" behind; `X<Y>` is XOfY. */
  nameOf(record: string): string | undefined {
    const bare = bareName(record);
    const names = ['', 'Scheduler'].flatMap((before) => ['', 'Dto'].map((behind) => `${before}${bare}${behind}`));
    // An enumeration may bear the name of a record.
    return names.find((name) => this.all[name]?.enum === undefined && this.all[name] !== undefined);
  }

  named(name: string): Schema {
    return this.all[name]!;
  }

  /** The schema itself, and the name it has in the document, if any. */
  resolve(schema: Schema): { name?: string; schema: Schema } {
    if (schema.allOf?.length === 1) return this.resolve(schema.allOf[0]!);
    if (schema.$ref === undefined) return { schema };
    const name = schema.$ref.split('/').at(-1)!;
    return { name, schema: this.all[name] ?? {} };
  }
}

function bareName(record: string): string {
  const generic = /^(\w+)<(\w+)>$/.exec(record);
  if (generic) return `${bareName(generic[1]!)}Of${bareName(generic[2]!)}`;
  return record.replace(/^Scheduler/, '');
}

import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { OperationName } from './ledger.js';

type Json = Record<string, unknown>;
interface Served {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>;
  components: { schemas: Record<string, Json> };
}
interface Answer {
  content?: Record<string, { schema?: Json }>;
}

/** Holds answers against the served document: every member is described there, and is what is said of it. */
export class AnswerSchemas {
  private readonly ajv = new Ajv({ strict: false, allErrors: true });
  private readonly compiled = new Map<string, ValidateFunction>();

  constructor(private readonly served: Served) {
    addFormats.default(this.ajv);
    // Numbers of these formats are safe integers and finite numbers in JavaScript anyhow.
    for (const format of ['int32', 'int64', 'float', 'double']) this.ajv.addFormat(format, true);
    const schemas = Object.entries(served.components.schemas).map(([name, schema]) => [name, closed(schema)]);
    this.ajv.addSchema({ $id: 'document', components: { schemas: Object.fromEntries(schemas) as Json } });
  }

  /** Faults of an answer; none when it is as the document says. */
  problems(operation: OperationName, status: number, type: string, body: unknown): string[] {
    const [method, path] = operation.split(' ') as [string, string];
    const described = this.served.paths[path]?.[method.toLowerCase()]?.responses;
    if (!described) return [`${operation} is not in the document`];
    const answer = described[status] ?? (status >= 400 ? described['default'] : undefined);
    if (!answer)
      return [`${operation} may not answer ${status}: the document knows ${Object.keys(described).join(', ')}`];
    if (!answer.content) return body === undefined ? [] : [`${operation} answers something where nothing is described`];
    const { schema } = answer.content[type] ?? answer.content[status >= 400 ? 'application/json' : '*/*'] ?? {};
    if (!schema) return [`${operation} answers ${type}: the document knows ${Object.keys(answer.content).join(', ')}`];
    const validate = this.validator(`${operation} ${status} ${type}`, schema);
    if (validate(body)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [`${operation} ${status}:`, instancePath || 'the answer', message, JSON.stringify(params)].join(' '),
    );
  }

  private validator(key: string, schema: Json): ValidateFunction {
    const known = this.compiled.get(key);
    if (known) return known;
    const validate = this.ajv.compile(closed(schema));
    this.compiled.set(key, validate);
    return validate;
  }
}

/** A copy of a schema, by which no object has members that are not described. References lead into the document. */
function closed(schema: unknown): Json {
  return walk(schema) as Json;
}

function walk(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(walk);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member)]));
  if (typeof inner['$ref'] === 'string') inner['$ref'] = inner['$ref'].replace(/^#/, 'document#');
  const isRecord = inner['type'] === 'object' && 'properties' in inner;
  if (isRecord && !('additionalProperties' in inner)) inner['additionalProperties'] = false;
  return inner;
}

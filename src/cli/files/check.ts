import type { ErrorObject, ValidateFunction } from 'ajv';
import { didYouMean } from '../../core/did-you-mean.js';
import { otherName } from '../../core/other-names.js';
import { projectFile } from '../project-file.js';

export interface Problem {
  path: (string | number)[];
  message: string;
}

export type Kind = 'request' | 'deploy';

export const schemaText = (kind: Kind): string => projectFile(`schemas/${kind}.schema.json`);

const schemas = new Map<Kind, Schema>();
export function schemaOf(kind: Kind): Schema {
  const schema = schemas.get(kind) ?? (JSON.parse(schemaText(kind)) as Schema);
  schemas.set(kind, schema);
  return schema;
}

const validators = new Map<Kind, ValidateFunction>();

/** Problems of a document by the published schema; misspelt names first, since they make others missing. */
export async function problemsOf(kind: Kind, value: unknown): Promise<Problem[]> {
  let validate = validators.get(kind);
  if (!validate) {
    const { Ajv } = await import('ajv');
    validate = new Ajv({ strict: false, allErrors: true, verbose: true, validateFormats: false }).compile(
      schemaOf(kind),
    );
    validators.set(kind, validate);
  }
  if (validate(value)) return [];
  const errors = validate.errors!.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'oneOf');
  const unknown = errors.filter(({ keyword }) => keyword === 'additionalProperties');
  return (unknown.length > 0 ? unknown : errors).slice(0, 5).map((error) => problemOf(error, schemaOf(kind)));
}

function problemOf({ instancePath, keyword, params, message, parentSchema, data }: ErrorObject, root: Schema): Problem {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const name = path.join('.') || 'the document';
  if (keyword === 'additionalProperties') {
    const given = String((params as { additionalProperty: string }).additionalProperty);
    const known = Object.keys((parentSchema as { properties?: object }).properties ?? {});
    const meant = didYouMean(given, known);
    const hint = otherName(given, meant) ?? (meant === undefined ? nameAll(known) : `did you mean '${meant}'?`);
    const where = path.length > 0 ? ` of ${name}` : '';
    return { path: [...path, given], message: `there is no field '${given}'${where}${hint ? ` (${hint})` : ''}` };
  }
  if (keyword === 'required') {
    const missing = (params as { missingProperty: string }).missingProperty;
    const { properties } = parentSchema as Schema;
    const values = valuesOf(properties?.[missing], root);
    const hint = values.length > 0 ? `: one of ${values.join(', ')}` : '';
    return { path, message: `${[...path, missing].join('.')} is required${hint}` };
  }
  return { path, message: `${name} ${ruleOf(keyword, params, name, data) ?? message}` };
}

/** The words that a member may have; none: it may have others. */
function valuesOf({ enum: values, allOf = [], $ref }: Schema = {}, root: Schema): unknown[] {
  if (values) return values;
  const target = definitionOf($ref, root);
  if (target) return valuesOf(target, root);
  return allOf.flatMap((part) => valuesOf(part, root));
}

/** The definition that a `$ref` of this schema names. */
export const definitionOf = ($ref: string | undefined, root: Schema): Schema | undefined =>
  $ref === undefined ? undefined : root.definitions?.[$ref.split('/').at(-1)!];

type Params = Record<string, unknown>;

/** The rule that a value breaks, without the words of JSON Schema; undefined: a rule that no field has. */
function ruleOf(keyword: string, params: Params, name: string, data: unknown): string | undefined {
  const { limit } = params as { limit?: number };
  switch (keyword) {
    case 'enum':
      return oneOf((params['allowedValues'] as unknown[]).map(String), data);
    case 'type': {
      const wanted = [params['type']].flat().map((type) => kinds[String(type)] ?? String(type));
      const hint = Array.isArray(data)
        ? inPlaceOfLists[name]
        : typeof data === 'string'
          ? inPlaceOfTexts[name]
          : undefined;
      return `must be ${wanted.join(' or ')}, not ${shownValue(data)}${hint === undefined ? '' : `: ${hint}`}`;
    }
    case 'pattern':
      return `may have only ${charactersOf(String(params['pattern']))}, not ${shownValue(data)}`;
    case 'minimum':
      return `must be at least ${limit}`;
    case 'maximum':
      return `must be at most ${limit}`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters`;
    case 'maxItems':
      return `must have at most ${limit} entries`;
    default:
      return undefined;
  }
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  null: 'empty',
};

/** Advice for fields in which other schedulers have a list. */
const inPlaceOfLists: Readonly<Record<string, string>> = {
  'deploy.command': 'its arguments stand in deploy.arguments',
  'deploy.env': 'a line for each, such as NAME: value',
  'the document': 'several documents are separated by lines of ---',
};

/** Advice for fields in which other schedulers have a text with a unit. */
const inPlaceOfTexts: Readonly<Record<string, string>> = {
  'deploy.resources.cpus': 'cores, such as 0.5',
  'deploy.resources.memoryMb': 'megabytes, such as 256',
  'deploy.resources.diskMb': 'megabytes, such as 1024',
};

function oneOf(allowed: readonly string[], data: unknown): string {
  const meant = typeof data === 'string' ? didYouMean(data, allowed) : undefined;
  const hint = meant === undefined ? '' : `: did you mean ${meant}?`;
  return `must be one of ${allowed.join(', ')}, not ${shownValue(data)}${hint}`;
}

/** The fields of a map that has few of them, for names that are like none. */
const nameAll = (known: readonly string[]): string | undefined =>
  known.length > 0 && known.length <= 8 ? `its fields are ${known.join(', ')}` : undefined;

function shownValue(data: unknown): string {
  if (Array.isArray(data)) return 'a list';
  if (typeof data === 'object' && data !== null) return 'a map';
  const text = JSON.stringify(data);
  return text.length > 60 ? `${text.slice(0, 56)}..."` : text;
}

/** The characters that a pattern such as ^[a-zA-Z0-9_-]+$ allows. */
function charactersOf(pattern: string): string {
  const [, set] = /^\^\[(.*)\]\+\$$/.exec(pattern) ?? [];
  if (set === undefined) return `what matches ${pattern}`;
  const others = [...set.replace('a-zA-Z', '').replace('0-9', '')].map((sign) => `'${sign}'`);
  const all = [...(set.includes('a-zA-Z') ? ['letters'] : []), ...(set.includes('0-9') ? ['digits'] : []), ...others];
  return [all.slice(0, -1).join(', '), all.at(-1)].filter(Boolean).join(' and ');
}

/** The parts of a JSON schema that tell where texts are meant. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  enum?: unknown[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
  definitions?: Record<string, Schema>;
}

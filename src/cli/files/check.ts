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
  return (unknown.length > 0 ? unknown : errors).slice(0, 5).map(problemOf);
}

function problemOf({ instancePath, keyword, params, message, parentSchema }: ErrorObject): Problem {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const name = path.join('.') || 'it';
  if (keyword === 'additionalProperties') {
    const given = String((params as { additionalProperty: string }).additionalProperty);
    const known = Object.keys((parentSchema as { properties?: object }).properties ?? {});
    const meant = didYouMean(given, known);
    const hint = otherName(given, meant) ?? (meant === undefined ? undefined : `did you mean '${meant}'?`);
    const where = path.length > 0 ? ` of ${name}` : '';
    return { path: [...path, given], message: `there is no field '${given}'${where}${hint ? ` (${hint})` : ''}` };
  }
  if (keyword === 'required') {
    const missing = (params as { missingProperty: string }).missingProperty;
    return { path, message: `${[...path, missing].join('.')} is required` };
  }
  if (keyword === 'enum') {
    return {
      path,
      message: `${name} must be one of ${(params as { allowedValues: unknown[] }).allowedValues.join(', ')}`,
    };
  }
  return { path, message: `${name} ${message}` };
}

/** The parts of a JSON schema that tell where texts are meant. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  $ref?: string;
  definitions?: Record<string, Schema>;
}

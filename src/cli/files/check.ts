import type { ErrorObject, ValidateFunction } from 'ajv';
import { projectFile } from '../project-file.js';

export interface Problem {
  path: (string | number)[];
  message: string;
}
export type Kind = 'request' | 'deploy';

export const schemaText = (kind: Kind): string => projectFile(`schemas/${kind}.schema.json`);

const validators = new Map<Kind, ValidateFunction>();

/** What of a document breaks the published schema; misspelt names first, since they make others missing. */
export async function problemsOf(kind: Kind, value: unknown): Promise<Problem[]> {
  let validate = validators.get(kind);
  if (!validate) {
    const { Ajv } = await import('ajv');
    validate = new Ajv({ strict: false, allErrors: true, verbose: true, validateFormats: false }).compile(
      JSON.parse(schemaText(kind)) as object,
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
    const meant = closest(given, known);
    const where = path.length > 0 ? ` of ${name}` : '';
    return {
      path: [...path, given],
      message: `there is no field '${given}'${where}${meant ? ` (did you mean '${meant}'?)` : ''}`,
    };
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

/** The known name with the fewest letters to change, if these are few. */
export function closest(given: string, known: readonly string[]): string | undefined {
  const lower = given.toLowerCase();
  const ranked = known
    .map((name) => ({ name, distance: distanceOf(lower, name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (best && best.distance <= Math.max(1, Math.floor(given.length / 3))) return best.name;
  // Such as cpu for cpus, memory for memoryMb.
  return known.find((name) => lower.length >= 3 && name.toLowerCase().startsWith(lower));
}

/** Letters to insert, leave out, replace or swap with their neighbour. */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return rows[a.length]!.at(-1)!;
}

import type { ValidationError } from '@nestjs/common';
import type { FieldError } from '../../core/field-error.js';

/** Rule words of this API for the validators whose own names are less telling. */
const ruleOf: Readonly<Record<string, string>> = {
  isString: 'type',
  isBoolean: 'type',
  isNumber: 'type',
  isObject: 'type',
  isArray: 'type',
  nestedValidation: 'type',
  isInt: 'integer',
  isIn: 'oneOf',
  isEnum: 'oneOf',
  isDefined: 'required',
  isNotEmpty: 'required',
  matches: 'pattern',
  minLength: 'length',
  maxLength: 'length',
  isLength: 'length',
};
/** Of several broken rules of one field the first of these is told: "must be a number" before "must be at least 1". */
const typeRules = [
  'type',
  'nestedValidation',
  'isArray',
  'isObject',
  'isString',
  'isBoolean',
  'isNumber',
  'isInt',
  'isIn',
];

/** One entry per broken field, in the order of the record, with dotted paths. */
export function toFieldErrors(errors: readonly ValidationError[], parent = ''): FieldError[] {
  return errors.flatMap((error) => {
    const field = parent ? `${parent}.${error.property}` : error.property;
    const broken = own(error, field);
    // What is no list of records at all need not be told of the fields its members lack.
    return broken.length > 0 ? broken : toFieldErrors(error.children ?? [], field);
  });
}

function own(error: ValidationError, field: string): FieldError[] {
  const broken = Object.entries(error.constraints ?? {});
  if (broken.length === 0) return [];
  if (error.value === undefined && !error.children?.length)
    return [{ field, rule: 'required', message: `${field} is required` }];
  const first = typeRules.find((name) => error.constraints?.[name] !== undefined);
  const [name, message] = broken.find(([candidate]) => candidate === first) ?? broken[0]!;
  return [{ field, rule: ruleOf[name] ?? name, message: withPath(message, error.property, field) }];
}

/** Validators know only the last name of the path. */
function withPath(message: string, property: string, field: string): string {
  if (message.startsWith(`${property} `)) return field + message.slice(property.length);
  return message.includes(field) ? message : message.replace(` ${property} `, ` ${field} `);
}

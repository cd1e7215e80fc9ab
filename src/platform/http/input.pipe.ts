import { type ArgumentMetadata, type PipeTransform, type ValidationError, ValidationPipe } from '@nestjs/common';
import * as transformerPackage from 'class-transformer';
import * as validatorPackage from 'class-validator';
import { didYouMean } from '../../core/did-you-mean.js';
import type { FieldError } from '../../core/field-error.js';
import { SchedulerError } from '../errors.js';
import { missingIn } from './bodies.js';
import { isMap, isShort } from './fields.js';
import { lastMillis, longestText } from './input-limits.js';
import { knownMembers } from './known-members.js';
import type { Leniency } from './legacy-names.js';
import { isNotGiven, readBoolean, readInteger } from './query.js';

/** Number of errors of a body that are reported: the first ones. */
const mostErrors = 100;

/** Nest's own would also delete keys named "constructor", which a map of the user may have; ours are clean already. */
class FieldValidation extends ValidationPipe {
  protected override stripProtoKeys(): void {}
}

const validating = (code: 'INVALID_REQUEST' | 'INVALID_PARAMETER') =>
  new FieldValidation({
    // Those that the DTOs are declared with: Nest would look for them by name.
    validatorPackage,
    transformerPackage,
    transform: true,
    // Unknown members are ignored: newer clients send fields that this version does not know.
    whitelist: true,
    forbidUnknownValues: false,
    exceptionFactory: (errors) => SchedulerError.invalid(code, toFieldErrors(errors).slice(0, mostErrors)),
  });

/** Turns what a call brings into what its handler declares, or refuses it naming each field and the broken rule. */
export class InputPipe implements PipeTransform {
  private readonly bodies = validating('INVALID_REQUEST');
  private readonly parameters = validating('INVALID_PARAMETER');

  /** Values that classes make of a query without parameters, which are always equal. */
  private readonly ofNothing = new Map<unknown, object>();

  constructor(private readonly leniency: Pick<Leniency, 'readsLoosely'>) {}

  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    if (metadata.type === 'body') return this.body(value, metadata);
    if (metadata.type === 'query' || metadata.type === 'param') return this.parameter(value, metadata);
    return value;
  }

  private body(value: unknown, metadata: ArgumentMetadata): unknown {
    const declared = metadata.metatype;
    if (declared === undefined || declared === String) return value;
    if (!isMap(value)) {
      const message = 'The body must be a JSON object';
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'type', message }]);
    }
    const known = knownMembers(value, declared, this.leniency.readsLoosely);
    const checked = this.bodies.transform(known, metadata) as Promise<unknown>;
    const lacks = missingIn(value);
    if (!lacks) return checked;
    return checked.then(() => {
      throw SchedulerError.invalid('INVALID_REQUEST', [lacks]);
    });
  }

  /** Either one named parameter of a simple type, or a class that describes all of them. */
  private parameter(value: unknown, metadata: ArgumentMetadata): unknown {
    if (isMap(value)) return this.allParameters(given(value), metadata);
    if (metadata.type === 'query' && isNotGiven(value)) return undefined;
    if (value === undefined) return value;
    if (metadata.metatype === Boolean) return this.expect('boolean', readBoolean(value), metadata);
    if (metadata.metatype === Number) return withinTime(this.expect('number', readInteger(value), metadata), metadata);
    if (metadata.metatype === String) return withinLength(this.expect('string', value, metadata), metadata);
    return value;
  }

  private allParameters(given: Record<string, unknown>, metadata: ArgumentMetadata): unknown {
    const { metatype } = metadata;
    if (Object.keys(given).length > 0) return this.parameters.transform(given, metadata);
    const known = this.ofNothing.get(metatype);
    if (known) return likeIt(known);
    return (this.parameters.transform(given, metadata) as Promise<unknown>).then((made) => {
      if (isMap(made)) this.ofNothing.set(metatype, likeIt(made));
      return made;
    });
  }

  private expect(type: string, value: unknown, { data = '' }: ArgumentMetadata): unknown {
    if (typeof value === type) return value;
    const wanted = type === 'number' ? 'a whole number' : type === 'boolean' ? 'true or false' : 'given once';
    throw SchedulerError.invalid('INVALID_PARAMETER', [
      { field: data, rule: 'type', message: `${data} must be ${wanted}` },
    ]);
  }
}

const likeIt = (one: object): object =>
  Object.assign(Object.create(Object.getPrototypeOf(one) as object) as object, one);

/** Parameters with a name of their own: ids and names, and the time of a command. */
function withinLength(value: unknown, { data = '' }: ArgumentMetadata): unknown {
  if (isShort(value, 'path')) return value;
  const message = `${data} must have at most ${longestText.path} characters`;
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: data, rule: 'length', message }]);
}

function withinTime(value: unknown, { data = '' }: ArgumentMetadata): unknown {
  if (Math.abs(Number(value)) <= lastMillis) return value;
  const message = `${data} must be at most ${lastMillis}`;
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: data, rule: 'max', message }]);
}

function given(query: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(query)) {
    if (name === '__proto__') continue;
    const values = [value].flat().filter((one) => !isNotGiven(one));
    if (values.length > 0) result[name] = values.length === 1 ? values[0] : values;
  }
  return result;
}

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
  encodedLength: 'length',
};
/**
 * Order in which the first of several broken rules of one field is reported: "must be a number" before "must be at
 * least 1".
 */
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
function toFieldErrors(errors: readonly ValidationError[], parent = ''): FieldError[] {
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
  return [
    { field, rule: ruleOf[name] ?? name, message: inPlainWords(withPath(message, error.property, field), error.value) },
  ];
}

/** Texts of the validators, and those that replace them here. */
const plainWords: readonly (readonly [RegExp, string])[] = [
  [/ must be an integer number$/, ' must be a whole number'],
  [/ must be a number conforming to the specified constraints$/, ' must be a number'],
  [/ must not be less than /, ' must be at least '],
  [/ must not be greater than /, ' must be at most '],
  [/ must be a time .*$/, '$&'],
  [/ must be a boolean value$/, ' must be true or false'],
  [/ must be an array$/, ' must be a list'],
  [/^each value in (\S+) must /, 'each $1 must '],
  [/ must be one of the following values: /, ' must be one of '],
];
const longestShown = 60;

/** With what was given, where that is short; and the word that was probably meant. */
function inPlainWords(message: string, value: unknown): string {
  const told = plainWords.find(([pattern]) => pattern.test(message));
  if (!told) return message;
  const plain = plainWords.reduce((text, [pattern, words]) => text.replace(pattern, words), message);
  const words = / must be one of (.*)$/.exec(plain)?.[1]?.split(', ');
  const wrong: unknown = words && Array.isArray(value) ? value.find((one) => !words.includes(String(one))) : value;
  const isSimple = typeof wrong === 'string' || typeof wrong === 'number' || typeof wrong === 'boolean';
  const shown = isSimple ? JSON.stringify(wrong) : '';
  const given = shown === '' || shown.length > longestShown ? plain : `${plain}, not ${shown}`;
  const meant = words && typeof wrong === 'string' ? didYouMean(wrong, words) : undefined;
  return meant === undefined ? given : `${given}: did you mean ${meant}?`;
}

/** Validators know only the last name of the path. */
function withPath(message: string, property: string, field: string): string {
  if (message.startsWith(`${property} `)) return field + message.slice(property.length);
  return message.includes(field) ? message : message.replace(` ${property} `, ` ${field} `);
}

import type { Type as ClassOf } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { SchedulerError } from '../errors.js';
import { mostRecords } from './input-limits.js';

/**
 * Content of a field of a body beside one simple value: a record of this class or a list of them, a list of numbers, a
 * map whose values are numbers in the end, or anything as it was sent.
 */
type Content = { records: () => ClassOf } | 'NUMBERS' | 'MAP_OF_NUMBERS' | 'AS_SENT';
/** Type of its simple values, where older clients send them as another one. */
type Simple = 'number' | 'boolean';
interface Field {
  content?: Content;
  simple?: Simple;
}

const key = Symbol('content');
const known = new WeakMap<ClassOf, ReadonlyMap<string, Field>>();

/** Marks a field that may hold objects; in all other fields an object is a mistake. */
export const Holds =
  (content: Content): PropertyDecorator =>
  (prototype, name) =>
    Reflect.defineMetadata(key, content, prototype, name);

/**
 * A body with what its class knows of it. class-transformer takes seconds for an object of some ten thousand members,
 * whatever they are, and nothing else happens meanwhile. So it is not shown what has no effect: members that no class knows,
 * and objects in the place of simple values, of which an empty one is refused as well as a full one.
 */
export function knownMembers(body: object, type: ClassOf, readsLoosely: boolean, path = ''): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of fieldsOf(type)) {
    if (!Object.hasOwn(body, name)) continue;
    result[name] = shown((body as Record<string, unknown>)[name], field, readsLoosely, path + name);
  }
  return result;
}

function shown(value: unknown, field: Field, readsLoosely: boolean, path: string): unknown {
  const { content, simple } = field;
  if (content === 'AS_SENT' || value === null) return value;
  if (content === 'MAP_OF_NUMBERS') return readsLoosely ? numbersIn(value) : value;
  if (typeof value !== 'object') return readsLoosely && simple !== undefined ? readLoosely(value, simple) : value;
  if (Array.isArray(value)) {
    if (typeof content === 'object' && value.length > mostRecords) {
      const message = `${path} must have at most ${mostRecords} members`;
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: path, rule: 'length', message }]);
    }
    return value.map((member, index) => shown(member, field, readsLoosely, `${path}.${index}`));
  }
  return typeof content === 'object' ? knownMembers(value, content.records(), readsLoosely, `${path}.`) : {};
}

export const memberNames = (type: ClassOf): string[] => [...fieldsOf(type).keys()];

/** A member that no class knows: where it stands, with a dot at the end, and what is known there. */
export interface UnknownMember {
  path: string;
  name: string;
  known: Iterable<string>;
  /** Path at which it would be known: within a record that the caller left out. */
  inside?: string;
}

/** Unknown members of a body, no more than `most`. Where anything may stand nothing is unknown. */
export function unknownMembers(body: object, type: ClassOf, most: number, path = ''): UnknownMember[] {
  const fields = fieldsOf(type);
  const found: UnknownMember[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (found.length >= most) break;
    const field = fields.get(name);
    if (!field) {
      found.push({ path, name, ...likeliest(fields, name, value) });
      continue;
    }
    const { content } = field;
    if (typeof content !== 'object' || value === null || typeof value !== 'object') continue;
    const members = Array.isArray(value) ? value.map((one, index) => [`${name}.${index}`, one]) : [[name, value]];
    for (const [at, member] of members as [string, unknown][]) {
      if (member === null || typeof member !== 'object' || Array.isArray(member)) continue;
      found.push(...unknownMembers(member, content.records(), most - found.length, `${path}${at}.`));
      if (found.length >= most) break;
    }
  }
  return found;
}

/**
 * Members that may be meant by a name that no class knows: where its value is a record, the fields that hold some; or
 * one of a record that is left out.
 */
function likeliest(
  fields: ReadonlyMap<string, Field>,
  name: string,
  value: unknown,
): Pick<UnknownMember, 'known' | 'inside'> {
  const holds = [...fields].filter(([, { content }]) => content !== undefined).map(([field]) => field);
  if (value !== null && typeof value === 'object') return { known: holds };
  for (const [field, { content }] of fields) {
    if (typeof content !== 'object') continue;
    if (fieldsOf(content.records()).has(name)) return { known: [], inside: `${field}.${name}` };
  }
  return { known: fields.keys() };
}

/** As JSON writes one, and no longer than any number is written. */
const numberText = /^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/;
const truthValues: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
  [1, true],
  [0, false],
]);

/** A number or truth value as older clients may send one. What is none stays as it came, and is refused like any other. */
function readLoosely(value: unknown, simple: Simple): unknown {
  if (simple === 'boolean') return truthValues.get(typeof value === 'string' ? value.toLowerCase() : value) ?? value;
  return typeof value === 'string' && numberText.test(value) ? Number(value) : value;
}

function numbersIn(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return readLoosely(value, 'number');
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, numbersIn(member)]));
}

/** The validators by which a field says what simple values it takes. */
const simpleBy: Readonly<Record<string, Simple>> = { isInt: 'number', isNumber: 'number', isBoolean: 'boolean' };

function fieldsOf(type: ClassOf): ReadonlyMap<string, Field> {
  let fields = known.get(type);
  if (!fields) {
    const found = new Map<string, Field>();
    const validated = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    for (const { propertyName: name, name: rule = '' } of validated) {
      const content = Reflect.getMetadata(key, type.prototype as object, name) as Content | undefined;
      const simple = content === 'NUMBERS' ? 'number' : (simpleBy[rule] ?? found.get(name)?.simple);
      found.set(name, { content, simple });
    }
    fields = found;
    known.set(type, fields);
  }
  return fields;
}

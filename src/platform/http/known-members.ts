import type { Type as ClassOf } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { SchedulerError } from '../errors.js';
import { mostRecords } from './input-limits.js';

/** What a field of a body holds beside simple values: a record of this class or a list of them, or anything as it was sent. */
type Content = { records: () => ClassOf } | 'AS_SENT';

const key = Symbol('content');
const known = new WeakMap<ClassOf, ReadonlyMap<string, Content | undefined>>();

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
export function knownMembers(body: object, type: ClassOf, path = ''): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, content] of fieldsOf(type)) {
    if (Object.hasOwn(body, name)) result[name] = shown((body as Record<string, unknown>)[name], content, path + name);
  }
  return result;
}

function shown(value: unknown, content: Content | undefined, path: string): unknown {
  if (content === 'AS_SENT' || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    if (content !== undefined && value.length > mostRecords) {
      const message = `${path} must have at most ${mostRecords} members`;
      throw SchedulerError.invalid('INVALID_REQUEST', [{ field: path, rule: 'length', message }]);
    }
    return value.map((member, index) => shown(member, content, `${path}.${index}`));
  }
  return content === undefined ? {} : knownMembers(value, content.records(), `${path}.`);
}

function fieldsOf(type: ClassOf): ReadonlyMap<string, Content | undefined> {
  let fields = known.get(type);
  if (!fields) {
    const validated = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    const contentOf = (name: string) => Reflect.getMetadata(key, type.prototype as object, name) as Content | undefined;
    fields = new Map(validated.map(({ propertyName: name }) => [name, contentOf(name)]));
    known.set(type, fields);
  }
  return fields;
}

import type { FieldError } from './field-error.js';

/**
 * Words that no id and no group may be. Every object of JavaScript has members of these names, so a program that keeps records by id
 * finds one that nobody made; command lines take what begins with '-' for an option.
 */
export const isReservedName = (name: string): boolean =>
  name in Object.prototype || name.startsWith('-') || /^_+$/.test(name);

/** `value` is new: one that is stored already is one like others, and can be changed and removed. */
export function reservedNameProblem(field: string, value: string): FieldError[] {
  if (!isReservedName(value)) return [];
  const message = `${field} '${value}' cannot be used: it must not begin with '-', must be more than '_', and must be no name that every object has, such as constructor`;
  return [{ field, rule: 'reserved', message }];
}

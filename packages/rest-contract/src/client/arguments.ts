import type { Slot } from '../contract/types.js';

type Values = Record<string, unknown>;
export type ReadArgument = (args: Values, context: Values) => unknown;

/** Finds one argument: given by the caller, else by the context of the connection, else its `optional` default. */
export function argumentReader(where: string, slot: Slot): ReadArgument {
  const { keys, definition } = slot;
  const name = keys[keys.length - 1] as string;
  const outer = keys.slice(0, -1);
  const fallback = definition.optionalValue?.value;
  return (args, context) => {
    let holder: Values | undefined = args;
    for (const key of outer) holder = member(where, holder, context, key) as Values | undefined;
    const value = member(where, holder, context, name);
    return value === undefined ? fallback : value;
  };
}

function member(where: string, holder: Values | undefined, context: Values, key: string): unknown {
  if (holder !== undefined && (typeof holder !== 'object' || holder === null)) {
    throw new TypeError(`The arguments of '${where}' are one object, not ${String(holder)}`);
  }
  const value = holder?.[key];
  if (value !== undefined || !Object.hasOwn(context, key)) return value;
  const provided = context[key];
  return typeof provided === 'function' ? (provided as () => unknown)() : provided;
}

/** True when a transient default keeps this value out of the request: equal to what the reader would use without it. */
export function isLeftOut({ definition }: Slot, value: unknown): boolean {
  if (!definition.isTransient) return false;
  const used = definition.whenAbsentValue ?? definition.optionalValue;
  return used !== undefined && sameValue(value, used.value);
}

/** Equal as values: same scalars, dates, and members, whatever their order. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Date || b instanceof Date) {
    return a instanceof Date && b instanceof Date && a.getTime() === b.getTime();
  }
  if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && sameValue((a as Values)[key], (b as Values)[key]));
}

/** Maps, byte arrays and class instances keep their content elsewhere than in members. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || prototype === Array.prototype;
}

import { ContractDefinitionError } from './errors.js';

/** A client with a `then` would be taken for a promise; the others are every object's own. */
const TAKEN = new Set(['then', 'constructor', '__proto__']);
const INTEGER = /^[+-]?\d+$/;

export function checkName(where: string, what: string, name: string): void {
  // JavaScript sorts such keys first, and the order of path parameters is the order of keys.
  if (INTEGER.test(name)) throw new ContractDefinitionError(`${where}: ${what} '${name}' looks like an integer`);
  if (TAKEN.has(name)) throw new ContractDefinitionError(`${where}: ${what} cannot be called '${name}'`);
  if (name === '') throw new ContractDefinitionError(`${where}: ${what} has an empty name`);
}

/** `/a/b` and `a/b/` are the segments a and b; nothing is no segment. */
export function segmentsOf(where: string, path: string): string[] {
  const segments = path.split('/').filter((segment) => segment !== '');
  for (const segment of segments) {
    if (segment === '.' || segment === '..')
      throw new ContractDefinitionError(`${where}: path '${path}' holds '${segment}'`);
  }
  return segments;
}

import type { Way } from '../codec/codec.js';
import { ContractDefinitionError } from './errors.js';

/** Says whose codec it is when a lookup fails. */
export function codingFor<T>(where: string, what: string, find: () => T): T {
  try {
    return find();
  } catch (cause) {
    throw new ContractDefinitionError(`${where}: ${what} ${(cause as Error).message}`, { cause });
  }
}

/** The compiler says this too; here for those who come without it. */
export function checkWay(where: string, what: string, way: Way, needed: 'encode' | 'decode'): void {
  if (way !== 'both' && way !== needed) {
    throw new ContractDefinitionError(`${where}: ${what} needs a codec with '${needed}', its codec has only '${way}'`);
  }
}

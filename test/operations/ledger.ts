import type { Addition } from '../contract/contract.js';

/** "GET /api/state": a method and the path as the contract writes it. */
export type OperationName = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;

/** It is there to fail, and does what it should when it does. */
const failsOnPurpose = 'POST /api/test/exception';

/** Statuses that each operation of a group was seen to answer, held against what the contract states. */
export class Ledger {
  private readonly seen = new Map<string, Set<number>>();
  private readonly wanted: readonly Addition[];

  constructor(
    operations: readonly Addition[],
    readonly group: string,
  ) {
    this.wanted = operations.filter((operation) => operation.group === group);
    if (this.wanted.length === 0) throw new Error(`There is no group '${group}'`);
  }

  record(operation: OperationName, status: number): void {
    const statuses = this.seen.get(shapeOf(operation)) ?? new Set();
    this.seen.set(shapeOf(operation), statuses.add(status));
  }

  /** By operation: the statuses that are stated, a success in any case, and were not seen. */
  missing(): string[] {
    return this.wanted.flatMap((operation) => {
      const name = `${operation.method} ${operation.path}`;
      const seen = this.seen.get(shapeOf(name)) ?? new Set<number>();
      const stated = statedStatuses(operation).filter((status) => !seen.has(status));
      const succeeded = [...seen].some((status) => status < 400 || (name === failsOnPurpose && status === 500));
      const missing = [...(succeeded ? [] : ['success']), ...stated.filter((status) => status >= 400)];
      return missing.length > 0 ? [`${name}: ${missing.join(', ')}`] : [];
    });
  }
}

/** A path has one template in the served document, whatever its parameters are called in the contract. */
const shapeOf = (operation: string): string => operation.replaceAll(/\{\w+\}/g, '{}');

/** Every number in the text that names them, as in "200, 404 none active". */
export const statedStatuses = ({ statedStatuses: text }: Addition): number[] =>
  [...text.matchAll(/\b[2-5]\d\d\b/g)].map(([status]) => Number(status));

import { readFileSync } from 'node:fs';

/**
 * The contract that clients of this API rely on: every operation with its input and output, every record with its
 * fields.
 */
export interface Contract {
  operations: ContractOperation[];
  records: Record<string, Record<string, ContractField>>;
}

export interface ContractOperation {
  group: string;
  method: string;
  path: string;
  params: { name: string; in: 'path' | 'query'; required: boolean; type: string; default?: unknown }[];
  body: { type: string; required: boolean } | null;
  /** A type, 'text/html', or null: nothing is answered, or nothing is said about it. */
  response: string | null;
  /** Statuses it may answer, with their reasons, as in '200, 404 none active'. Empty: nothing special. */
  statedStatuses: string;
}

/** Types are written as in 'int64', 'array of Resources', 'map string to array of string', 'ASC / DESC'. */
export interface ContractField {
  type: string;
  required?: boolean;
  writeOnly?: boolean;
}

/** An operation that older clients do not know. Of what it takes and answers the served document alone says more. */
export type Addition = Pick<ContractOperation, 'group' | 'method' | 'path' | 'statedStatuses'>;

export const readAdditions = (): Addition[] =>
  JSON.parse(readFileSync(new URL('additions.json', import.meta.url), 'utf8')) as Addition[];

export const readContract = (): Contract =>
  JSON.parse(readFileSync(new URL('contract.json', import.meta.url), 'utf8')) as Contract;

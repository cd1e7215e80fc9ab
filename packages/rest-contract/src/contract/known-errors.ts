import { bodyCoding } from '../codec/lookup.js';
import { HttpErrorException } from '../raw/http-error.js';
import type { OperationsOf, RulesOf } from './contract.js';
import type { AnyContract, Operation } from './types.js';
import { ContractDefinitionError } from './errors.js';
import type { Params } from './params.js';
import type { ReadOfShape, SentOfShape } from './shapes.js';
import type { Shape } from '../codec/shape.js';

type ErrorsOf<C, K extends keyof OperationsOf<C>> =
  OperationsOf<C>[K] extends Operation<'query' | 'json' | 'form', Params, Shape, infer E> ? E : Record<never, never>;

/** The errors that an operation states, told apart by their status. */
export type KnownError<C, K extends keyof OperationsOf<C>> = {
  [S in keyof ErrorsOf<C, K>]: { readonly status: S; readonly body: ReadOfShape<ErrorsOf<C, K>[S]> };
}[keyof ErrorsOf<C, K>];

/**
 * Finds the error of a rejected call among those that its operation declares: `await knownError(UserApi, 'getUser',
 * error)`. undefined: another status, a body that is not what is stated, or no answer at all.
 */
export async function knownError<C extends AnyContract, K extends keyof OperationsOf<C> & string>(
  contract: C,
  operation: K,
  error: unknown,
): Promise<KnownError<C, K> | undefined> {
  const coding = error instanceof HttpErrorException ? codingOf(contract, operation, error.status) : undefined;
  if (!coding || !(error instanceof HttpErrorException)) return undefined;
  try {
    const body = await coding.decode(error.body, { maxBytes: Number.POSITIVE_INFINITY });
    return { status: error.status, body } as KnownError<C, K>;
  } catch {
    return undefined; // a proxy in between has statuses of its own
  }
}

/** The error of a status that an operation states: `throw httpError(UserApi, 'getUser', 404, { id })`. */
export function httpError<
  C extends AnyContract,
  K extends keyof OperationsOf<C> & string,
  S extends keyof ErrorsOf<C, K> & number,
>(contract: C, operation: K, status: S, value: SentOfShape<ErrorsOf<C, K>[S], RulesOf<C>>): HttpErrorException {
  const coding = codingOf(contract, operation, status);
  if (!coding) throw new ContractDefinitionError(`${contract.name}.${operation} states no error of status ${status}`);
  return new HttpErrorException(status, coding.encode(value));
}

function codingOf(contract: AnyContract, name: string, status: number) {
  const member = contract.members.find((one) => one.kind === 'operation' && one.name === name);
  if (member?.kind !== 'operation') return undefined;
  const type = member.options.errors?.[status];
  return type && bodyCoding({ type }, member.rules);
}

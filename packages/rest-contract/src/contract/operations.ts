import type { OperationObject, ResponseDocs } from '../openapi/types.js';
import type { CheckedParams, CheckedPrefixParams } from './check-params.js';
import type { AnyContract } from './contract.js';
import type { Params } from './params.js';
import type { Shape } from './shapes.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Where body fields (and parameters without a kind) go: into the query of a GET, a JSON object, or a form. */
export type FieldPlace = 'query' | 'json' | 'form';

/** By status: what the body of an error holds. */
export interface ErrorTypes {
  readonly [status: number]: Shape;
}

export interface OperationOptions<Form extends boolean = boolean, E extends ErrorTypes = ErrorTypes> {
  /** Replaces the operation's name in the path; may hold slashes and may be empty. */
  readonly path?: string;
  /** Body fields are sent as application/x-www-form-urlencoded. */
  readonly form?: Form;
  /** Overrides the server's limit for this operation. */
  readonly maxBodyBytes?: number;
  readonly summary?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly tags?: readonly string[];
  /** What errors of these statuses hold: `httpError` makes them on the server, `knownError` reads them on the client. */
  readonly errors?: E;
  /** Statuses to document beside the one of the result. */
  readonly responses?: ResponseDocs;
  /** Transforms the generated operation object, last of all. */
  readonly adjust?: (operation: OperationObject) => OperationObject;
}

export interface Operation<
  F extends FieldPlace = FieldPlace,
  P extends Params = Params,
  R extends Shape = Shape,
  E extends ErrorTypes = ErrorTypes,
> {
  readonly kind: 'operation';
  readonly method: Method;
  readonly fieldPlace: F;
  readonly params: P;
  readonly result: R;
  readonly options: OperationOptions<boolean, E>;
}

export interface PrefixOptions {
  readonly path?: string;
  /** Tags of the operations behind this prefix; its name unless given. */
  readonly tags?: readonly string[];
}

export interface Prefix<P extends Params = Params, C extends AnyContract = AnyContract> {
  readonly kind: 'prefix';
  readonly params: P;
  readonly target: () => C;
  readonly options: PrefixOptions;
}

type PlaceOf<Form> = Form extends true ? 'form' : 'json';

/** `post({ …parameters }, result, options)`, and so for `patch`, `put` and `del`. */
export interface DefineWithBody {
  <P extends Params, R extends Shape, Form extends boolean = false, E extends ErrorTypes = Record<never, never>>(
    params: P & CheckedParams<P, PlaceOf<Form>>,
    result: R,
    options?: OperationOptions<Form, E>,
  ): Operation<PlaceOf<Form>, P, R, E>;
}

const withBody = (method: Method): DefineWithBody =>
  ((params: Params, result: Shape, options: OperationOptions = {}) => ({
    kind: 'operation',
    method,
    fieldPlace: options.form ? 'form' : 'json',
    params,
    result,
    options,
  })) as unknown as DefineWithBody;

/** Every parameter is a query parameter unless said otherwise; there is no body. */
export const get = <P extends Params, R extends Shape, E extends ErrorTypes = Record<never, never>>(
  params: P & CheckedParams<P, 'query'>,
  result: R,
  options: Omit<OperationOptions<boolean, E>, 'form'> = {},
): Operation<'query', P, R, E> => ({ kind: 'operation', method: 'GET', fieldPlace: 'query', params, result, options });

export const post = withBody('POST');
export const patch = withBody('PATCH');
export const put = withBody('PUT');
export const del = withBody('DELETE');

/** An operation whose method was not stated: POST. */
export const operation = post;

/**
 * Puts a path and parameters in front of every operation of another contract. A function as target
 * allows contracts that are declared later.
 */
export const prefix = <P extends Params, C extends AnyContract>(
  params: P & CheckedPrefixParams<P>,
  target: C | (() => C),
  options: PrefixOptions = {},
): Prefix<P, C> => ({
  kind: 'prefix',
  params,
  target: typeof target === 'function' ? target : () => target,
  options,
});

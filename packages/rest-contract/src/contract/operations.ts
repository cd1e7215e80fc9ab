import type { CheckedParams, CheckedPrefixParams } from './check-params.js';
import type { AnyContract, Method, ErrorTypes, OperationOptions, Operation, PrefixOptions, Prefix } from './types.js';
import type { Params } from './params.js';
import type { Shape } from '../codec/shape.js';

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

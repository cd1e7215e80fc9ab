import type { AsyncWrapper, WrapperOf, WrapperName } from '../async/wrappers.js';
import type { AnyContract, Contract, Operation, Prefix } from '../contract/types.js';
import type { ServerArgs } from '../contract/params.js';
import type { SentOfShape } from '../contract/shapes.js';
import type { RestRequest } from '../raw/message.js';

/** Facts of a call beside its arguments, for an implementation. */
export interface CallContext {
  /** Fires when the caller gave up or hung up. */
  readonly signal: AbortSignal;
  readonly request: RestRequest;
}

/** A stream may be returned as it is, an async generator for one; everything else comes in its container. */
type Answer<T, W extends WrapperName> = WrapperOf<T, W> | ([T] extends [AsyncIterable<unknown>] ? T : never);

type ServiceMember<D, Rules, W extends WrapperName> =
  D extends Operation<'query' | 'json' | 'form', infer P, infer R>
    ? (args: ServerArgs<P, Rules>, context: CallContext) => Answer<SentOfShape<R, Rules>, W>
    : D extends Prefix<infer P, infer C>
      ? (args: ServerArgs<P, Rules>, context: CallContext) => Service<C, W> | Promise<Service<C, W>>
      : D extends AnyContract
        ? (args: Record<never, never>, context: CallContext) => Service<D, W> | Promise<Service<D, W>>
        : never;

/** Type that implements a contract: `class Users implements Service<typeof UserApi>`. */
export type Service<C, W extends WrapperName = 'promise'> =
  C extends Contract<infer Ops, infer Rules> ? { readonly [K in keyof Ops]: ServiceMember<Ops[K], Rules, W> } : never;

export interface FailureReport {
  /** Contract and operation, as in `UserApi.getUser`. */
  readonly operation: string;
  readonly request: RestRequest;
}

export interface ServeOptions<W extends WrapperName = 'promise'> {
  /** The container operations answer with; Promise unless given. */
  readonly wrapper?: AsyncWrapper<W>;
  /** Hears of everything answered with 500 and of streams that broke; console.error unless given. */
  readonly onError?: (error: unknown, report: FailureReport) => void;
  /** The longest body that is read whole, 1 MiB unless given; streams have no limit. An operation may state its own. */
  readonly maxBodyBytes?: number;
  /** Validates results before they are sent: what the schema does not know is left out, a wrong one is a 500. */
  readonly checkResults?: boolean;
}

/** Gives an implementation the types of its contract: `implement(UserApi, { getUser: async ({ id }) => … })`. */
export const implement = <C extends AnyContract>(_contract: C, service: Service<C>): Service<C> => service;

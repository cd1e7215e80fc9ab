import type { WrapperOf, WrapperName } from '../async/wrappers.js';
import type { AnyContract, Contract, Operation, Prefix } from '../contract/types.js';
import type { ClientArgs, Group, Params, TypeOf } from '../contract/params.js';
import type { ReadOfShape, SentOfShape } from '../contract/shapes.js';
import type { Shape } from '../codec/shape.js';

export interface CallOptions {
  /** Gives the call up; the server's `context.signal` fires. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the answer; for a streamed result, for its beginning. Zero means no limit. */
  readonly timeoutMs?: number | undefined;
}

/** May be left out where every argument may. */
type Arguments<A> =
  Record<never, never> extends A ? [args?: A, options?: CallOptions] : [args: A, options?: CallOptions];
type PrefixArguments<A> = Record<never, never> extends A ? [args?: A] : [args: A];

type ClientMember<D, Rules, W extends WrapperName, Context> =
  D extends Operation<'query' | 'json' | 'form', infer P, infer R>
    ? (...args: Arguments<ClientArgs<P, Rules, Context>>) => WrapperOf<ReadOfShape<R>, W>
    : D extends Prefix<infer P, infer C>
      ? (...args: PrefixArguments<ClientArgs<P, Rules, Context>>) => Client<C, W, Context>
      : D extends AnyContract
        ? () => Client<D, W, Context>
        : never;

/** A plain object with one function per operation. */
export type Client<C, W extends WrapperName = 'promise', Context = unknown> =
  C extends Contract<infer Ops, infer Rules>
    ? { readonly [K in keyof Ops]: ClientMember<Ops[K], Rules, W, Context> }
    : never;

// The context given to `connect`: each value must suit every parameter of its name.

type Shallower = [never, 0, 1, 2, 3, 4];

type ParamsNamed<P, Name, Rules> = {
  [K in keyof P]: P[K] extends Group<infer Inner>
    ? K extends Name
      ? { readonly is: ClientArgs<Inner, Rules> }
      : ParamsNamed<Inner, Name, Rules>
    : K extends Name
      ? { readonly is: SentOfShape<TypeOf<P[K]>, Rules> }
      : never;
}[keyof P];

type AllNamed<C, Name, Depth extends number> = [Depth] extends [0]
  ? never
  : C extends Contract<infer Ops, infer Rules>
    ? {
        [K in keyof Ops]: Ops[K] extends Operation<'query' | 'json' | 'form', infer P extends Params, Shape>
          ? ParamsNamed<P, Name, Rules>
          : Ops[K] extends Prefix<infer P, infer Target>
            ? ParamsNamed<P, Name, Rules> | AllNamed<Target, Name, Shallower[Depth] & number>
            : AllNamed<Ops[K], Name, Shallower[Depth] & number>;
      }[keyof Ops]
    : never;

type Both<U> = (U extends { readonly is: infer T } ? (take: T) => void : never) extends (take: infer I) => void
  ? I
  : never;

/** Values of `context`: for each name the type all its parameters share. An unknown name is refused. */
export type ContextFor<C, Context> = {
  [K in keyof Context]: [AllNamed<C, K, 5>] extends [never]
    ? never
    : Both<AllNamed<C, K, 5>> | (() => Both<AllNamed<C, K, 5>>);
};

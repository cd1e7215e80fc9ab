import type { CodecRule } from '../codec/rules.js';
import type { CheckedDefinitions } from './check-codecs.js';
import { membersOf } from './members.js';
import type { Operation, Prefix, Definitions, Contract, AnyContract } from './types.js';
import type { ServerArgs } from './params.js';
import type { Shape } from '../codec/shape.js';

export interface ContractOptions<Rules> {
  /** The codec set: looked at after a parameter's own codec, before the defaults. */
  readonly codecs?: readonly Rules[];
}

/**
 * Makes a contract of operations (`get`, `post`, …), prefixes and other contracts. A contract as a member is a prefix
 * without parameters whose path is its name.
 */
export function contract<Ops extends Definitions, Rules extends CodecRule = never>(
  name: string,
  operations: Ops & CheckedDefinitions<Ops, Rules>,
  options: ContractOptions<Rules> = {},
): Contract<Ops, NoInfer<Rules>> {
  const rules = options.codecs ?? [];
  return Object.freeze({ name, operations, rules, members: membersOf(name, operations, rules) });
}

export type OperationsOf<C> = C extends Contract<infer Ops, unknown> ? Ops : never;
export type RulesOf<C> = C extends Contract<unknown, infer Rules> ? Rules : never;

/** The arguments of one operation as its implementation receives them: `Args<typeof UserApi, 'getUser'>`. */
export type Args<C, K extends keyof OperationsOf<C>> = OperationsOf<C>[K] extends
  Operation<'query' | 'json' | 'form', infer P, Shape> | Prefix<infer P, AnyContract>
  ? ServerArgs<P, RulesOf<C>>
  : Record<never, never>;

import type { CodecRule } from '../codec/rules.js';
import type { CheckedDefinitions } from './check-codecs.js';
import { type Member, membersOf } from './members.js';
import type { Operation, Prefix } from './operations.js';
import type { Params, ServerArgs } from './params.js';
import type { Shape } from './shapes.js';

export interface Definitions {
  readonly [name: string]: AnyOperation | AnyPrefix | AnyContract;
}
export type AnyOperation = Operation<'query' | 'json' | 'form', Params, Shape>;
export type AnyPrefix = Prefix<Params, AnyContract>;

/** Describes an HTTP service. Server, client and OpenAPI document are made from it. */
export interface Contract<Ops = Definitions, Rules = CodecRule> {
  readonly name: string;
  readonly operations: Ops;
  readonly rules: readonly Rules[];
  /** The definitions, checked and laid out for use. */
  readonly members: readonly Member[];
}
export type AnyContract = Contract<unknown, unknown>;

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

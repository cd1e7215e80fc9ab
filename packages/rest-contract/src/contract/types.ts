import type { OperationObject, ResponseDocs } from '../openapi/types.js';
import type { Params, ParamDefinition } from './params.js';
import type { Shape } from '../codec/shape.js';
import type { CodecRule } from '../codec/rules.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** Place of body fields (and of parameters without a kind): into the query of a GET, a JSON object, or a form. */
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
  /**
   * Bodies of errors with these statuses: `httpError` makes them on the server, `knownError` reads them on the client.
   */
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

export type SlotKind = 'path' | 'query' | 'header' | 'cookie' | 'field' | 'body';

/** One parameter, its kind settled and its groups unfolded. */
export interface Slot {
  /** Path of its value in the arguments object: more than one key inside groups. */
  readonly keys: readonly string[];
  readonly name: string;
  readonly kind: SlotKind;
  readonly wireName: string;
  readonly suffix: readonly string[];
  readonly definition: ParamDefinition;
}

export interface OperationMember {
  readonly kind: 'operation';
  readonly name: string;
  readonly segments: readonly string[];
  readonly slots: readonly Slot[];
  readonly method: Method;
  readonly fieldPlace: FieldPlace;
  readonly definition: AnyOperation;
  readonly options: OperationOptions;
  readonly rules: readonly CodecRule[];
}

export interface PrefixMember {
  readonly kind: 'prefix';
  readonly name: string;
  readonly segments: readonly string[];
  readonly slots: readonly Slot[];
  readonly target: () => AnyContract;
  readonly options: PrefixOptions;
  readonly rules: readonly CodecRule[];
}

export type Member = OperationMember | PrefixMember;

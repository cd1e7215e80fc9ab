import type { Codec, CodecKind, Way } from '../codec/codec.js';
import type { JsonSchema, ParameterObject } from '../openapi/types.js';
import type { ContractError } from './errors.js';
import type { ReadOfShape, SentOfShape } from './shapes.js';
import type { Shape } from '../codec/shape.js';

/** `plain` becomes what the operation's method says: query on GET, path on a prefix, body field elsewhere. */
export type ParamKind = 'plain' | 'path' | 'query' | 'header' | 'cookie' | 'field' | 'body';

/** Rule for a missing value: never; on the wire only (`whenAbsent`); or in the client's arguments too. */
export type Presence = 'required' | 'absentOnWire' | 'optional';

/** A default that only a parameter which can be missing may have. */
export type CanBeAbsent<K extends ParamKind> = K extends 'path' | 'body' ? false : true;

type OnlyIfAbsentAllowed<K extends ParamKind, Self> =
  CanBeAbsent<K> extends true ? Self : ContractError<`A ${K} parameter is always there: it takes no default`>;

export interface ParamDefinition<T = Shape> {
  readonly kind: ParamKind;
  readonly type: T;
  readonly wireName?: string | undefined;
  readonly suffix?: string | undefined;
  readonly via?: Codec | undefined;
  readonly whenAbsentValue?: { readonly value: unknown } | undefined;
  readonly optionalValue?: { readonly value: unknown } | undefined;
  readonly isTransient: boolean;
  readonly adjustments: readonly ((parameter: ParameterObject) => ParameterObject)[];
  readonly schemaAdjustments: readonly ((schema: JsonSchema) => JsonSchema)[];
}

export interface Param<K extends ParamKind = ParamKind, T extends Shape = Shape, P extends Presence = Presence> {
  readonly definition: ParamDefinition<T> & { readonly kind: K; readonly presence?: P | undefined };

  /** Used by the server when the value is missing, and shown in OpenAPI. The client's argument stays required. */
  whenAbsent(
    this: OnlyIfAbsentAllowed<K, Param<K, T, P>>,
    value: ReadOfShape<T>,
  ): Param<K, T, P extends 'optional' ? 'optional' : 'absentOnWire'>;
  /** The argument may be left out; this value is used then, on either side. Not shown in OpenAPI. */
  optional(this: OnlyIfAbsentAllowed<K, Param<K, T, P>>, value: ReadOfShape<T>): Param<K, T, 'optional'>;
  /** A value equal to its default is left out of the request. */
  transientDefault(
    this: P extends 'required'
      ? ContractError<'transientDefault needs a default: whenAbsent or optional'>
      : Param<K, T, P>,
  ): Param<K, T, P>;
  /** This codec and no other, for this parameter. */
  via<C extends Codec<CodecKind, never, unknown, Way>>(codec: C): Param<K, C, P>;
  describe(description: string): Param<K, T, P>;
  adjust(change: (parameter: ParameterObject) => ParameterObject): Param<K, T, P>;
  adjustSchema(change: (schema: JsonSchema) => JsonSchema): Param<K, T, P>;
}

class ParamValue {
  constructor(readonly definition: ParamDefinition) {}

  whenAbsent(value: unknown) {
    return this.with({ whenAbsentValue: { value } }, 'whenAbsent');
  }
  optional(value: unknown) {
    return this.with({ optionalValue: { value } }, 'optional');
  }
  transientDefault() {
    const { whenAbsentValue, optionalValue } = this.definition;
    if (!whenAbsentValue && !optionalValue) {
      throw new TypeError('transientDefault needs a default: call whenAbsent or optional before it');
    }
    return this.with({ isTransient: true });
  }
  via(codec: Codec) {
    return this.with({ type: codec, via: codec });
  }
  describe(description: string) {
    return this.adjust((parameter) => ({ ...parameter, description }));
  }
  adjust(change: (parameter: ParameterObject) => ParameterObject) {
    return this.with({ adjustments: [...this.definition.adjustments, change] });
  }
  adjustSchema(change: (schema: JsonSchema) => JsonSchema) {
    return this.with({ schemaAdjustments: [...this.definition.schemaAdjustments, change] });
  }

  private with(change: Partial<ParamDefinition>, defaultFor?: string): ParamValue {
    const { kind } = this.definition;
    if (defaultFor && (kind === 'path' || kind === 'body')) {
      throw new TypeError(`A ${kind} parameter is always there: it takes no ${defaultFor}`);
    }
    return new ParamValue({ ...this.definition, ...change });
  }
}

export const isParam = (value: unknown): value is Param => value instanceof ParamValue;

export const definitionOf = (kind: ParamKind, type: Shape, more: Partial<ParamDefinition> = {}): ParamDefinition => ({
  kind,
  type,
  isTransient: false,
  adjustments: [],
  schemaAdjustments: [],
  ...more,
});

const make = <K extends ParamKind, T extends Shape>(kind: K, type: T, more?: Partial<ParamDefinition>) =>
  new ParamValue(definitionOf(kind, type, more)) as unknown as Param<K, T, 'required'>;

/** A parameter of the method's default kind: only needed to call `whenAbsent` and the like on it. */
export const param = <T extends Shape>(type: T, wireName?: string) => make('plain', type, { wireName });

/** Appended to the path in declaration order, followed by `suffix` if given. */
export const path = <T extends Shape>(type: T, suffix?: string) => make('path', type, { suffix });

export const query = <T extends Shape>(type: T, wireName?: string) => make('query', type, { wireName });

export const header = <T extends Shape>(name: string, type: T) => make('header', type, { wireName: name });

export const cookie = <T extends Shape>(type: T, wireName?: string) => make('cookie', type, { wireName });

/** A member of the JSON object (or of the form) that is the body. */
export const field = <T extends Shape>(type: T, wireName?: string) => make('field', type, { wireName });

/** The whole body. A schema is sent as JSON; `bytes()`, `text()`, `ndjson()` and codecs decide for themselves. */
export const body = <T extends Shape>(type: T) => make('body', type);

export interface Group<P extends Params = Params> {
  readonly group: P;
}

/** Arguments kept together in one object. Nothing changes on the wire. */
export const group = <P extends Params>(params: P): Group<P> => ({ group: params });

export const isGroup = (value: unknown): value is Group =>
  typeof value === 'object' && value !== null && 'group' in value && !('~standard' in value);

export type ParamEntry = Param | Group | Shape;
export interface Params {
  readonly [name: string]: ParamEntry;
}

// What a parameter is for each side.

// Looked up in `definition` alone: inferring from all of `Param` would compare its methods with those of every schema.
export type KindOf<E> = E extends { readonly definition: { readonly kind: infer K extends ParamKind } } ? K : 'plain';
export type TypeOf<E> = E extends { readonly definition: { readonly type: infer T } } ? T : E;
type PresenceOf<E> = E extends { readonly definition: { readonly presence?: infer P } } ? NonNullable<P> : 'required';

type SentOfEntry<E, Rules, Context> =
  E extends Group<infer P> ? ClientArgs<P, Rules, Context> : SentOfShape<TypeOf<E>, Rules>;
type ReadOfEntry<E, Rules> = E extends Group<infer P> ? ServerArgs<P, Rules> : ReadOfShape<TypeOf<E>>;

type MayLeaveOut<E, Rules, Context> =
  E extends Group<infer P>
    ? Record<never, never> extends ClientArgs<P, Rules, Context>
      ? true
      : false
    : PresenceOf<E> extends 'optional'
      ? true
      : undefined extends SentOfShape<TypeOf<E>, Rules>
        ? true
        : false;

type LeftOut<P, Rules, Context> = {
  [K in keyof P]: K extends keyof Context ? K : MayLeaveOut<P[K], Rules, Context> extends true ? K : never;
}[keyof P];

type Flat<T> = { [K in keyof T]: T[K] };

/**
 * The arguments object of a client. What the context given to `connect` provides may be left out. Keys are filtered by `as`, so
 * that editors still show what is said about a parameter where it is declared.
 */
export type ClientArgs<P, Rules = never, Context = unknown> = Flat<
  { [K in keyof P as K extends LeftOut<P, Rules, Context> ? never : K]: SentOfEntry<P[K], Rules, Context> } & {
    [K in keyof P as K extends LeftOut<P, Rules, Context> ? K : never]?: SentOfEntry<P[K], Rules, Context> | undefined;
  }
>;

type AbsentForServer<P, Rules> = {
  [K in keyof P]: P[K] extends Group ? never : undefined extends ReadOfEntry<P[K], Rules> ? K : never;
}[keyof P];

/** The arguments object that an implementation receives. */
export type ServerArgs<P, Rules = never> = Flat<
  { [K in Exclude<keyof P, AbsentForServer<P, Rules>>]: ReadOfEntry<P[K], Rules> } & {
    [K in AbsentForServer<P, Rules>]?: ReadOfEntry<P[K], Rules>;
  }
>;

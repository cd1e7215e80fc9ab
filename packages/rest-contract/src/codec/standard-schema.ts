import { Unreadable } from '../raw/failures.js';

/** The part of https://standardschema.dev that this library uses; zod, valibot and arktype schemas all have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema, where the library has it: feeds OpenAPI. */
    readonly jsonSchema?:
      | {
          readonly input: (options: JsonSchemaRequest) => Record<string, unknown>;
          readonly output: (options: JsonSchemaRequest) => Record<string, unknown>;
        }
      | undefined;
  };
}

export interface JsonSchemaRequest {
  readonly target: string;
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: ReadonlyArray<SchemaIssue> };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

export type InputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly input: infer I }
    ? I
    : never
  : never;

export type OutputOf<S> = S extends { readonly '~standard': { readonly types?: infer T } }
  ? NonNullable<T> extends { readonly output: infer O }
    ? O
    : never
  : never;

export const validate = (schema: StandardSchema, value: unknown) => schema['~standard'].validate(value);

export const isStandardSchema = (value: unknown): value is StandardSchema =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;

export const keysOf = (issue: SchemaIssue): PropertyKey[] =>
  (issue.path ?? []).map((key) => (typeof key === 'object' ? key.key : key));

/** Limit of the problems that a message names: a list of ten thousand bad items needs no ten thousand lines. */
const NAMED_ISSUES = 5;

export function unreadable(issues: ReadonlyArray<SchemaIssue>): Unreadable {
  const lines = issues.slice(0, NAMED_ISSUES).map((issue) => {
    const at = keysOf(issue).map(String).join('.');
    return at === '' ? issue.message : `${at}: ${issue.message}`;
  });
  const more = issues.length - lines.length;
  return new Unreadable(more > 0 ? `${lines.join('; ')}; and ${more} more` : lines.join('; '));
}

export const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';

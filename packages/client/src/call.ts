import {
  byteStream,
  type CallBounds,
  type CallOptions,
  checkMediaType,
  type Entry,
  type HttpBody,
  emptyBody,
  JSON_TYPE,
  performCall,
  type ReadContext,
  readText,
  type ResponseReader,
  type RestRequest,
  type RestResponse,
  textBody,
  unit,
  Unreadable,
  WrongMediaType,
} from 'rest-contract/client';
import type { paths } from './generated/records.js';

/** Kind of an answer. The inside of a record is not checked: a newer service may answer more than is known here. */
export type AnswerKind = 'nothing' | 'bytes' | 'text' | 'object' | 'array' | 'string' | 'number' | 'boolean';

/** A row of the table of operations. */
export type OperationRow = readonly [method: string, path: string, answer: AnswerKind];

/** The call of one operation: parameters of the path and of the query by their names, and the record that it sends as `body`. */
export type Call<M extends string, P extends keyof paths, K extends AnswerKind> = (
  ...args: Arguments<ArgsOf<OperationAt<M, P>>>
) => Promise<Answer<OperationAt<M, P>, K>>;

type OperationAt<M extends string, P extends keyof paths> = paths[P][Lowercase<M> & keyof paths[P]];

/** May be left out where every argument may. */
type Arguments<A> =
  Record<never, never> extends A ? [args?: A, options?: CallOptions] : [args: A, options?: CallOptions];

type ArgsOf<O> = O extends { parameters: { path?: infer P; query?: infer Q } }
  ? PartIfAny<P> & PartIfAny<Q> & BodyOf<O>
  : never;
type PartIfAny<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
type BodyOf<O> = O extends { requestBody: { content: Json<infer B> } }
  ? { body: B }
  : O extends { requestBody?: { content: Json<infer B> } }
    ? unknown extends B
      ? unknown
      : { body?: B }
    : unknown;
type Json<T> = { 'application/json': T };

type Answer<O, K extends AnswerKind> = K extends 'nothing'
  ? void
  : K extends 'bytes'
    ? AsyncIterable<Uint8Array>
    : K extends 'text'
      ? string
      : O extends { responses: infer R }
        ? R[keyof R] extends { content: Json<infer A> }
          ? A
          : never
        : never;

/** Does the calls of one operation. */
export function caller(operation: OperationRow, bounds: CallBounds) {
  const result: ResponseReader = { decode: (response, context) => answerOf(response, operation[2], context) };
  return async (args: Record<string, unknown> = {}, options?: CallOptions): Promise<unknown> =>
    performCall(requestOf(operation, args), result, bounds, options);
}

function requestOf([method, path]: OperationRow, { body, ...args }: Record<string, unknown>): RestRequest {
  const segments = path
    .slice(1)
    .split('/')
    .map((segment) =>
      segment.replace(/^\{(\w+)\}$/, (_all, name: string) => {
        const { [name]: value } = args;
        if (value === undefined || value === null) throw new TypeError(`${name} is missing: ${method} ${path}`);
        delete args[name];
        return String(value);
      }),
    );
  const query = Object.entries(args).flatMap(([name, value]) =>
    [value].flat().flatMap((one): Entry[] => (one === undefined || one === null ? [] : [[name, String(one)]])),
  );
  const sent: HttpBody = body === undefined ? emptyBody : textBody(JSON.stringify(body), JSON_TYPE);
  return { method, path: segments, query, headers: [], cookies: [], body: sent };
}

async function answerOf(response: RestResponse, kind: AnswerKind, context: ReadContext): Promise<unknown> {
  const { body } = response;
  if (kind === 'nothing') return unit.decode(response, context);
  if (kind === 'bytes') return anyBytes.decode(body, context);
  if (kind === 'text') return readText(body, context.maxBytes);
  if (body.kind === 'empty') throw new WrongMediaType(json, 'nothing');
  checkMediaType(body, [json]);
  const value = jsonOf(await readText(body, context.maxBytes));
  if (kindOf(value) !== kind) throw new Unreadable(`must be ${shown(kind)}, not ${shown(kindOf(value))}`);
  return value;
}

const json = 'application/json';
const anyBytes = byteStream('*/*');

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Unreadable(`is unreadable: ${(cause as Error).message}`);
  }
}

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const words: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  string: 'a text',
  null: 'null',
};
const shown = (kind: string): string => words[kind] ?? `a ${kind}`;

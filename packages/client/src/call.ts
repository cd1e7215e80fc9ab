import {
  accepts,
  type Entry,
  type HandleRequest,
  type HttpBody,
  emptyBody,
  JSON_TYPE,
  readBytes,
  readText,
  type RestRequest,
  textBody,
  TooLarge,
  Unreadable,
} from 'rest-contract/client';
import { UnreadableResponse } from './errors.js';
import type { paths } from './generated/records.js';

export interface CallOptions {
  /** Gives the call up. */
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the answer, repetitions included; for a file or a stream, for its beginning. 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** What an answer is. Inside of a record nobody looks: a newer service may answer more than is known here. */
export type AnswerKind = 'nothing' | 'bytes' | 'text' | 'object' | 'array' | 'string' | 'number' | 'boolean';

/** A row of the table of operations. */
export type Operation = readonly [method: string, path: string, answer: AnswerKind];

/** The call of one operation: parameters of the path and of the query by their names, and the record that it sends as `body`. */
export type Call<M extends string, P extends keyof paths, K extends AnswerKind> = (
  ...args: Arguments<ArgsOf<OperationAt<M, P>>>
) => Promise<Answer<OperationAt<M, P>, K>>;

type OperationAt<M extends string, P extends keyof paths> = paths[P][Lowercase<M> & keyof paths[P]];

/** May be left out where every argument may. */
type Arguments<A> =
  Record<never, never> extends A ? [args?: A, options?: CallOptions] : [args: A, options?: CallOptions];

type ArgsOf<O> = O extends { parameters: { path?: infer P; query?: infer Q } }
  ? Given<P> & Given<Q> & BodyOf<O>
  : never;
type Given<T> = [NonNullable<T>] extends [never] ? unknown : NonNullable<T>;
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

export interface CallDefaults {
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

/** Does the calls of one operation. */
export const caller =
  (send: HandleRequest, operation: Operation, defaults: CallDefaults) =>
  async (args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<unknown> => {
    const request = requestOf(operation, args);
    const { timeoutMs = defaults.timeoutMs } = options;
    const limit = new TimeLimit(`${request.method} /${request.path.join('/')}`, timeoutMs, options.signal);
    try {
      const answer = exchange(send, { ...request, signal: limit.signal }, operation[2], defaults.maxResponseBytes);
      return await Promise.race([answer, limit.passed]);
    } finally {
      limit.end();
    }
  };

function requestOf([method, path]: Operation, { body, ...args }: Record<string, unknown>): RestRequest {
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

/** Ends a call at its time or with the caller's signal, also where what sends it does not listen. */
class TimeLimit {
  readonly signal: AbortSignal;
  /** Rejects when the call is to end. */
  readonly passed: Promise<never>;
  private readonly timer: ReturnType<typeof setTimeout> | undefined;

  constructor(what: string, timeoutMs: number, outer: AbortSignal | undefined) {
    outer?.throwIfAborted();
    const controller = new AbortController();
    const expire = () => controller.abort(new DOMException(`${what} took longer than ${timeoutMs} ms`, 'TimeoutError'));
    this.timer = timeoutMs > 0 ? setTimeout(expire, timeoutMs) : undefined;
    const { signal } = controller;
    this.signal = outer ? AbortSignal.any([outer, signal]) : signal;
    this.passed = new Promise((_resolve, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason as Error), { once: true });
    });
  }

  end(): void {
    clearTimeout(this.timer);
  }
}

async function exchange(send: HandleRequest, request: RestRequest, kind: AnswerKind, maxBytes: number) {
  const { body } = await send(request);
  try {
    return await read(body, kind, maxBytes);
  } catch (problem) {
    if (!(problem instanceof Unreadable || problem instanceof TooLarge)) throw problem;
    const what = `The response to ${request.method} /${request.path.join('/')}`;
    throw new UnreadableResponse(`${what} ${problem.message}`, { cause: problem });
  }
}

async function read(body: HttpBody, kind: AnswerKind, maxBytes: number): Promise<unknown> {
  // Read to its end rather than dropped, so that the connection can carry the next call.
  if (kind === 'nothing') return bytesOf(body, maxBytes).then(ignored, ignored);
  if (kind === 'bytes') return piecesOf(body);
  if (kind === 'text') return readText(body, maxBytes);
  const type = body.kind === 'empty' ? 'nothing' : body.mediaType;
  if (!accepts('application/json', type)) throw new Unreadable(`must be application/json, not ${type}`);
  const value = jsonOf(await readText(body, maxBytes));
  if (kindOf(value) !== kind) throw new Unreadable(`must be ${shown(kind)}, not ${shown(kindOf(value))}`);
  return value;
}

const bytesOf = async (body: HttpBody, maxBytes: number) => readBytes(body, maxBytes);
const ignored = () => undefined;

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

async function* piecesOf(body: HttpBody): AsyncGenerator<Uint8Array, void, undefined> {
  if (body.kind === 'stream') yield* body.content;
  else if (body.kind !== 'empty')
    yield typeof body.content === 'string' ? new TextEncoder().encode(body.content) : body.content;
}

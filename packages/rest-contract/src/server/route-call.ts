import type { AsyncWrapper, WrapperName } from '../async/wrappers.js';
import { type ReadContext, isCodec } from '../codec/codec.js';
import { type ResultCoding, resultCoding } from '../codec/lookup.js';
import { isPromise, type StandardSchema, validate, unreadable } from '../codec/standard-schema.js';
import { checkWay, codingFor } from '../contract/coding-errors.js';
import type { Member } from '../contract/types.js';
import type { RestRequest, RestResponse } from '../raw/message.js';
import { badArgument } from './bad-input.js';
import { type BodyContent, contentReader, type Reader, readerOf } from './readers.js';
import type { Route } from './routes.js';
import { abandon, isAsyncIterable } from './streams.js';
import type { CallContext } from './types.js';

type Values = Record<string, unknown>;
type Implementation = Record<string, (args: Values, context: CallContext) => unknown>;

export interface CallSettings {
  readonly wrapper: AsyncWrapper<WrapperName> | undefined;
  readonly maxBodyBytes: number;
  readonly checkResults: boolean;
}

const NO_CONTENT: BodyContent = { kind: 'none' };

/** Everything needed to answer one route, settled when the server is created. */
export class RouteCall {
  private readonly prefixes: readonly ArgumentsReader[];
  private readonly operation: ArgumentsReader;
  private readonly content: ReturnType<typeof contentReader>;
  private readonly result: ResultCoding;
  private readonly context: ReadContext;
  private readonly resultSchema: StandardSchema | undefined;

  constructor(
    readonly route: Route,
    private readonly settings: CallSettings,
  ) {
    const { operation, where } = route;
    const { rules, definition, options } = operation;
    this.prefixes = route.prefixes.map((prefix) => new ArgumentsReader(route.call, prefix));
    this.operation = new ArgumentsReader(where, operation);
    this.content = contentReader(operation);
    this.result = codingFor(where, 'the result', () => resultCoding({ type: definition.result }, rules));
    checkWay(where, 'the result', this.result.way, 'encode');
    this.context = { maxBytes: options.maxBodyBytes ?? settings.maxBodyBytes };
    this.resultSchema = settings.checkResults && !isCodec(definition.result) ? definition.result : undefined;
  }

  async answer(
    implementation: unknown,
    request: RestRequest,
    pathValues: readonly string[],
    isHead: boolean,
  ): Promise<RestResponse> {
    const call = new Call(request);
    let service = implementation as Implementation;
    let taken = 0;
    for (const prefix of this.prefixes) {
      // Before the body is read: a prefix is where callers are turned away.
      const args = prefix.read(request, pathValues, taken, NO_CONTENT, this.context);
      taken += prefix.pathCount;
      const next = invoke(service, prefix.name, isPromise(args) ? await args : args, call);
      service = (isPromise(next) ? await next : next) as Implementation;
    }
    const content = await this.readContent(request);
    const args = this.operation.read(request, pathValues, taken, content, this.context);
    let value = invoke(service, this.operation.name, isPromise(args) ? await args : args, call);
    const { wrapper } = this.settings;
    if (wrapper && !isAsyncIterable(value)) value = wrapper.toPromise(value as never, call.signal);
    if (isPromise(value)) value = await value;
    if (this.resultSchema) value = await checked(this.resultSchema, value, this.route.call);
    const response = this.result.encode(value);
    if (isHead && isAsyncIterable(value)) abandon(value);
    return response;
  }

  private readContent(request: RestRequest): BodyContent | Promise<BodyContent> {
    if (!this.content) return NO_CONTENT;
    const { where } = this.route;
    try {
      const content = this.content(request, this.context);
      return content instanceof Promise
        ? content.catch((problem: unknown) => Promise.reject(badArgument(where, undefined, problem)))
        : content;
    } catch (problem) {
      throw badArgument(where, undefined, problem);
    }
  }
}

function invoke(service: Implementation, name: string, args: Values, call: CallContext): unknown {
  if (typeof service?.[name] !== 'function') throw new TypeError(`The implementation has no function '${name}'`);
  return service[name](args, call);
}

/** The signal is made only for those who look at it. */
class Call implements CallContext {
  private never: AbortSignal | undefined;
  constructor(readonly request: RestRequest) {}
  get signal(): AbortSignal {
    return this.request.signal ?? (this.never ??= new AbortController().signal);
  }
}

async function checked(schema: StandardSchema, value: unknown, call: string): Promise<unknown> {
  const result = await validate(schema, value);
  if (result.issues)
    throw new TypeError(`The result of ${call} is not what its contract says: ${unreadable(result.issues).message}`);
  return result.value;
}

/** Builds the arguments object of one operation or prefix. */
class ArgumentsReader {
  readonly name: string;
  readonly pathCount: number;
  private readonly readers: readonly Reader[];
  private readonly groups: readonly (readonly string[])[];

  constructor(
    private readonly where: string,
    member: Member,
  ) {
    this.name = member.name;
    this.readers = member.slots.map((slot) => readerOf(where, member, slot));
    this.pathCount = member.slots.filter((slot) => slot.kind === 'path').length;
    this.groups = member.slots.filter((slot) => slot.keys.length > 1).map((slot) => slot.keys.slice(0, -1));
  }

  read(
    request: RestRequest,
    pathValues: readonly string[],
    firstPath: number,
    content: BodyContent,
    context: ReadContext,
  ): Values | Promise<Values> {
    const args: Values = {};
    for (const group of this.groups) holderOf(args, group);
    let pathIndex = firstPath;
    let pending: Promise<void>[] | undefined;
    for (const reader of this.readers) {
      const { slot } = reader;
      const pathValue = slot.kind === 'path' ? pathValues[pathIndex++] : undefined;
      let value: unknown;
      try {
        value = reader.read(request, pathValue, content, context);
      } catch (problem) {
        throw badArgument(this.where, slot, problem);
      }
      if (isPromise(value)) (pending ??= []).push(this.later(args, reader, value));
      else if (value !== undefined) this.put(args, reader, value);
    }
    return pending ? this.settled(args, pending) : args;
  }

  private async settled(args: Values, pending: Promise<void>[]): Promise<Values> {
    await Promise.all(pending);
    return args;
  }

  private async later(args: Values, reader: Reader, value: Promise<unknown>): Promise<void> {
    try {
      const settled = await value;
      if (settled !== undefined) this.put(args, reader, settled);
    } catch (problem) {
      throw badArgument(this.where, reader.slot, problem);
    }
  }

  private put(args: Values, { slot }: Reader, value: unknown): void {
    const { keys } = slot;
    const holder = keys.length === 1 ? args : holderOf(args, keys.slice(0, -1));
    // A stream is read after the arguments are: its trouble is told as this argument's too.
    holder[slot.name] = isAsyncIterable(value) ? explained(value, this.where, slot) : value;
  }
}

function holderOf(args: Values, keys: readonly string[]): Values {
  let holder = args;
  for (const key of keys) holder = (holder[key] ??= {}) as Values;
  return holder;
}

async function* explained(
  values: AsyncIterable<unknown>,
  where: string,
  slot: Reader['slot'],
): AsyncGenerator<unknown> {
  try {
    yield* values;
  } catch (problem) {
    throw badArgument(where, slot, problem);
  }
}

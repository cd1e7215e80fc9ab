import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { FieldError } from '../../core/field-error.js';
import { isStorable } from '../../core/storable-text.js';
import { SchedulerError } from '../errors.js';
import { Around } from './around.js';
import { isMap } from './fields.js';
import { longestText } from './input-limits.js';
import { keepWritten, lookThrough, type WrittenNumbers } from './json-text.js';
import { inOrder } from './middleware.js';
import { freeFormMembers, type Leniency, legacyNames, legacyWords } from './legacy-names.js';
import { type NamesSent, noteNamesSent } from './names-sent.js';

const withoutBody = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The bytes of a body, inflated, up to maxBytes. What is not JSON is refused before they come. */
export function bytesOfBody(maxBytes: number, { readsLoosely }: Leniency): RequestHandler {
  const read = inOrder(
    refuseOtherMediaTypes,
    ...(readsLoosely ? [forgetUnknownEncoding] : []),
    askForBody(maxBytes),
    express.raw({ limit: maxBytes, type: hasBody }),
  );
  return (request, response, next) => (hasBody(request) ? read(request, response, next) : next());
}

/** Callers with `Expect: 100-continue` send a body only when they are told to: not one that is too long to be read. */
const askForBody =
  (maxBytes: number): RequestHandler =>
  (request, response, next) => {
    if (request.get('expect') === undefined) return next();
    if (Number(request.get('content-length') ?? 0) > maxBytes)
      throw new SchedulerError('BODY_TOO_LARGE', 'The body is larger than this service accepts');
    response.writeContinue();
    next();
  };

/**
 * Reads bodies of POST, PUT and DELETE alike: strict JSON in UTF-8. No body, an empty one and null all read as {}, so that
 * operations with an optional body need not tell them apart; `NeedsBody` does.
 */
export function jsonBody({ acceptsNames, readsLoosely }: Leniency): RequestHandler {
  return (request, _response, next) => {
    if (!hasBody(request)) return next();
    try {
      const { value: body, numbers } = readBody(request, readsLoosely);
      if (body === undefined || body === null) markBodiless(request);
      if (isMap(body)) nullsOf.set(request, nullMembers(body));
      if (readsLoosely) lenientlyRead.add(request);
      const names: NamesSent = new Map();
      noteNamesSent(request, names);
      request.body = normalizeBody(body ?? {}, acceptsNames, names, numbers);
    } catch (cause) {
      return next(cause instanceof BodyProblem ? SchedulerError.invalid('INVALID_REQUEST', [cause.error]) : cause);
    }
    next();
  };
}

interface Body {
  /** undefined: there is none. */
  value?: unknown;
  numbers?: WrittenNumbers;
}

/** The bytes of a call, inflated by now, as the value that they stand for. Of a member that is given twice the last may count. */
function readBody(request: Request, lastCounts: boolean): Body {
  const bytes = request.body as Buffer | undefined;
  if (bytes === undefined || bytes.length === 0 || ignoresBody(request)) return {};
  const type = request.get('content-type') ?? '';
  const text = decode(bytes, type);
  if (readsText(request)) return { value: isForm(type) ? textOfForm(text) : text };
  const { isTooLarge, repeated, numbers } = lookThrough(text, mostValues);
  if (isTooLarge) throw problem([], 'size', `holds more than ${mostValues} values`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new SchedulerError(
      'INVALID_JSON',
      `The body is not valid JSON: ${withLine((cause as Error).message, text)}`,
      { cause },
    );
  }
  if (repeated && !lastCounts) throw problem(repeated, 'repeated', 'is given more than once');
  return { value, numbers };
}

/** Newer versions of Node.js tell line and column by themselves. */
function withLine(message: string, text: string): string {
  const [, position] = / at position (\d+)$/.exec(message) ?? [];
  if (position === undefined) return message;
  const before = text.slice(0, Number(position)).split('\n');
  return `${message} (line ${before.length} column ${before.at(-1)!.length + 1})`;
}

/** Bytes that are no text of their character set are refused: a lenient decoder would store U+FFFD for them. */
function decode(bytes: Buffer, contentType: string): string {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8';
  let decoder;
  try {
    decoder = new TextDecoder(charset, { fatal: true });
  } catch {
    throw new SchedulerError('UNSUPPORTED_MEDIA_TYPE', `The body cannot be read: unsupported charset "${charset}"`);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    throw problem([], 'encoding', `must be text in ${charset.toUpperCase()}`);
  }
}

const hasBody = (request: { method?: string }): boolean => !withoutBody.has(request.method ?? '');

function refuseOtherMediaTypes(request: Request, _response: Response, next: NextFunction): void {
  const given = request.get('content-type');
  const length = request.get('content-length');
  const empty = request.get('transfer-encoding') === undefined && (length === undefined || length === '0');
  const isJson = given !== undefined && /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(given);
  if (empty || !hasBody(request) || isJson) return next();
  if (readsText(request) && (given === undefined || isPlainText(given) || isForm(given))) return next();
  // A page of another origin can send a body without a type, but none of type JSON: so what has no type is not taken for JSON.
  const sent = given === undefined ? 'the header Content-Type is missing' : `not '${given}'`;
  const hint = isForm(given ?? '') ? `. With curl: -H 'Content-Type: application/json'` : '';
  next(new SchedulerError('UNSUPPORTED_MEDIA_TYPE', `The body must be application/json: ${sent}${hint}`));
}

const knownEncodings = new Set(['identity', 'gzip', 'deflate', 'br']);

/** Older clients name in Content-Encoding what they could read, and send plain JSON. If it is none, that is what they are told. */
function forgetUnknownEncoding({ headers }: Request, _response: Response, next: NextFunction): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding !== undefined && !knownEncodings.has(encoding)) delete headers['content-encoding'];
  next();
}

/** Operations whose body is one text, which clients send bare or as a JSON string. */
const takesText = /^\/api\/notifications\/(un)?subscribe\/?$/;

/** True if the body of this call is to be read as text, whatever it calls itself. */
const readsText = (request: Request): boolean => request.method === 'POST' && takesText.test(request.path);

/** Older clients send who calls with these. Nothing looks at it, so nothing in it is wrong. */
const withIgnoredBody = /^\/api\/(inactive\/all|(slaves|agents)\/dead)\/?$/;
const ignoresBody = ({ method, path }: Request): boolean => method === 'DELETE' && withIgnoredBody.test(path);

const isPlainText = (contentType: string): boolean => /^text\/plain\s*(;|$)/i.test(contentType);
const isForm = (contentType: string): boolean => /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType);

/**
 * curl calls whatever it sends a form, unless it is told otherwise. Fields, which every form of a page has, are not read: what is
 * taken here is one text that has no more of a form than its name.
 */
function textOfForm(text: string): string {
  if (/[=&]/.test(text)) {
    const message = 'A form with fields is not read here: send the text alone, as text/plain or as a JSON string';
    throw new SchedulerError('UNSUPPORTED_MEDIA_TYPE', message);
  }
  try {
    return /%\w\w/.test(text) ? decodeURIComponent(text) : text;
  } catch {
    return text; // a percent sign that encodes nothing
  }
}

const bodiless = new WeakSet<object>();

/** Marks a call without a body, which the parser reads as one without members. */
function markBodiless(request: object): void {
  bodiless.add(request);
}

@Injectable()
class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (!bodiless.has(context.switchToHttp().getRequest<Request>())) return true;
    const message = 'A body is required: what it does not name would be cleared by mistake';
    throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'required', message }]);
  }
}

/** Extension that marks such operations in the served document, until it is written. */
export const needsBody = 'x-needs-body';

/** On a handler of which every member may be absent, and where doing that by mistake is not harmless: 400 without a body. */
export const NeedsBody = () => applyDecorators(UseGuards(BodyGuard), ApiExtension(needsBody, true));

/** Members that were sent as null. Everywhere else that is the same as not sent. */
const nullsOf = new WeakMap<object, ReadonlySet<string>>();
const nullMembers = (body: Record<string, unknown>): ReadonlySet<string> =>
  new Set(Object.keys(body).filter((name) => body[name] === null));
/** Older clients leave a member out to clear it. */
const lenientlyRead = new WeakSet<object>();

interface NeededMember {
  /** null says that there shall be none any more. */
  nullClears?: boolean;
  /** A body without any member says the same. */
  nothingClears?: boolean;
}

/**
 * On a handler that changes what these members say, one of which the body has to name: one that is left out, or misspelt, would
 * clear it. Under compatibility it does.
 */
export const NeedsMember = (names: readonly string[], needed: NeededMember = {}) =>
  UseInterceptors(new MissingMember(names, needed));

class MissingMember extends Around {
  constructor(
    private readonly names: readonly string[],
    private readonly needed: NeededMember,
  ) {
    super();
  }

  begin(context: ExecutionContext): undefined {
    const request = context.switchToHttp().getRequest<Request>();
    if (!isMap(request.body) || lenientlyRead.has(request)) return;
    const { body } = request as { body: Record<string, unknown> };
    const { names } = this;
    const { nullClears, nothingClears } = this.needed;
    const nulls = nullsOf.get(request);
    const isNamed = names.some((name) => Object.hasOwn(body, name) || (nullClears && nulls?.has(name)));
    if (isNamed || (nothingClears && Object.keys(body).length === 0)) return;
    const what = names.length === 1 ? `${names[0]} is required` : `One of ${names.join(', ')} is required`;
    const message = nullClears ? `${what}; null stands for none` : what;
    missing.set(body, { field: names[0]!, rule: 'required', message });
  }
}

/** The missing member of a body, for the pipe that checks the others: all errors of a body are reported together. */
const missing = new WeakMap<object, FieldError>();
export const missingIn = (body: object): FieldError | undefined => missing.get(body);

/** Deeper documents are refused: no record of this API comes near, and code that walks them recurses. */
const maxDepth = 64;
/** Members and list entries, in the whole body. To check this many takes a tenth of a second, in which nothing else happens. */
const mostValues = 20_000;

const ourNames: ReadonlyMap<string, string> = new Map(Object.entries(legacyNames));

/** A body that breaks a rule of every body, whatever its record. */
export class BodyProblem extends Error {
  constructor(readonly error: FieldError) {
    super(error.message);
  }
}

/**
 * Brings a parsed body into the form that all rooms may rely on: members that are null are absent, legacy names are ours,
 * and every text can be stored. Adds to `sent` what it has renamed.
 */
export function normalizeBody(
  body: unknown,
  acceptLegacyNames: boolean,
  sent: NamesSent = new Map(),
  numbers?: WrittenNumbers,
): unknown {
  /** Names from the body down to what is looked at; joined only for the message about a problem. */
  const path: string[] = [];
  let values = 0;
  const walk = (value: unknown, freeForm: boolean, written?: string | WrittenNumbers): unknown => {
    if (typeof value === 'string') return storable(value, path);
    if (value === null || typeof value !== 'object') return value;
    if (path.length > maxDepth) throw problem(path, 'depth', `is nested deeper than ${maxDepth} levels`);
    const numbersHere = typeof written === 'object' ? written : undefined;
    if (Array.isArray(value))
      return value.map((member, index) => below(String(index), member, freeForm, numbersHere?.get(index)));
    const result: Record<string, unknown> = {};
    if (numbersHere) keepWritten(result, numbersHere);
    for (const [given, member] of Object.entries(value)) {
      if (member === null || given === '__proto__') continue;
      const renamed = acceptLegacyNames && !freeForm ? ourNames.get(given) : undefined;
      // Sent under both names, ours counts.
      if (renamed !== undefined && (value as Record<string, unknown>)[renamed] != null) continue;
      const name = renamed ?? storable(given, path);
      if (renamed !== undefined) sent.set(renamed, given);
      const word = acceptLegacyNames && !freeForm ? ourWord(name, member) : undefined;
      if (word !== undefined) sent.set(word, String(member));
      const isFree = freeForm || freeFormMembers.has(name);
      result[name] = word ?? below(name, member, isFree, numbersHere?.get(given));
    }
    return result;
  };
  const below = (name: string, member: unknown, freeForm: boolean, written?: string | WrittenNumbers): unknown => {
    if (++values > mostValues) throw problem([], 'size', `holds more than ${mostValues} values`);
    path.push(name);
    const walked = walk(member, freeForm, written);
    path.pop();
    return walked;
  };
  return walk(body, false, numbers);
}

const ourWord = (name: string, value: unknown): string | undefined =>
  typeof value === 'string' && Object.hasOwn(legacyWords, name) ? legacyWords[name]?.[value] : undefined;

function storable(text: string, path: readonly string[]): string {
  if (!isStorable(text)) throw problem(path, 'text', 'contains a character that cannot be stored');
  return text;
}

const problem = (path: readonly (string | number)[], rule: string, what: string): BodyProblem => {
  const field = path.join('.').slice(0, longestText.path);
  return new BodyProblem({ field, rule, message: `${field || 'The body'} ${what}` });
};

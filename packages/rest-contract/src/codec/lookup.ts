import { emptyBody, type HttpBody, readText, textBody } from '../raw/body.js';
import { Unreadable } from '../raw/failures.js';
import { JSON_TYPE } from '../raw/media-type.js';
import { noEntries, type RestResponse } from '../raw/message.js';
import { checkMediaType, errorOf } from './bodies.js';
import { type Codec, type CodecKind, isCodec, type Json, type ReadContext, type Way } from './codec.js';
import { checkJsonNumber, parseJson, readJson, writeJson } from './json.js';
import { type CodecRule, ownCodecs } from './rules.js';
import type { StandardSchema } from './standard-schema.js';
import { scalarToText, TextReader } from './text.js';
import type { TextParamKind } from '../contract/shapes.js';
import type { Shape } from './shape.js';

/** A type in its place, with what may decide its codec. */
export interface SlotType {
  readonly type: Shape;
  /** Given on the parameter: comes before everything. */
  readonly via?: Codec | undefined;
}

/**
 * The one order of precedence: on the parameter; the contract's codec set; the schema's own; low-priority rules of the
 * set. Within one source the kinds are tried in order of fallback. Undefined means the defaults.
 */
export function findCodec({ type, via }: SlotType, rules: readonly CodecRule[], kinds: readonly CodecKind[]) {
  if (via) return demand(via, kinds);
  if (isCodec(type)) return demand(type, kinds);
  return byRules(type, rules, kinds, false) ?? firstOfKind(ownCodecs(type), kinds) ?? byRules(type, rules, kinds, true);
}

function demand(codec: Codec, kinds: readonly CodecKind[]): Codec {
  if (kinds.includes(codec.raw)) return codec;
  throw new TypeError(`has a codec to ${codec.raw}, but needs one to ${kinds.join(' or ')}`);
}

function firstOfKind(codecs: readonly Codec[], kinds: readonly CodecKind[]): Codec | undefined {
  for (const kind of kinds) {
    const found = codecs.find((codec) => codec.raw === kind);
    if (found) return found;
  }
  return undefined;
}

function byRules(type: StandardSchema, rules: readonly CodecRule[], kinds: readonly CodecKind[], low: boolean) {
  for (const kind of kinds) {
    const rule = rules.find((one) => one.low === low && one.raw === kind && one.covers(type));
    if (rule) return rule.codecOf(type);
  }
  return undefined;
}

export interface TextCoding {
  readonly way: Way;
  /** Texts, because a list is one entry per element. */
  encode(value: unknown): readonly string[];
  decode(texts: readonly string[]): unknown;
}

export function textCoding(typed: SlotType, place: TextParamKind, rules: readonly CodecRule[]): TextCoding {
  const found = findCodec(typed, rules, [place, 'text']);
  if (!found) return schemaTextCoding(typed.type as StandardSchema);
  const context = { maxBytes: Number.POSITIVE_INFINITY };
  return {
    way: found.way,
    encode: (value) => [found.encode(value) as string],
    decode: (texts) => found.decode(single(texts), context),
  };
}

function schemaTextCoding(schema: StandardSchema): TextCoding {
  const reader = new TextReader(schema);
  return {
    way: 'both',
    encode: (value) => (Array.isArray(value) ? value.map(scalarToText) : [scalarToText(value)]),
    decode: (texts) => reader.readAll(texts),
  };
}

function single(texts: readonly string[]): string {
  if (texts.length > 1) throw new Unreadable('is given more than once');
  return texts[0] ?? '';
}

export interface JsonCoding {
  readonly way: Way;
  encode(value: unknown): unknown;
  decode(json: Json): unknown;
}

export function jsonCoding(type: Shape, rules: readonly CodecRule[] = [], via?: Codec): JsonCoding {
  const found = findCodec({ type, via }, rules, ['json']);
  if (found) return found as unknown as JsonCoding;
  return {
    way: 'both',
    encode: (value) => {
      checkJsonNumber(value);
      return value;
    },
    decode: (json) => readJson(type as StandardSchema, json),
  };
}

export interface BodyCoding {
  readonly way: Way;
  encode(value: unknown): HttpBody;
  decode(body: HttpBody, context: ReadContext): unknown;
}

export function bodyCoding(typed: SlotType, rules: readonly CodecRule[]): BodyCoding {
  const found = findCodec(typed, rules, ['body', 'json']);
  if (found?.raw === 'body') return found as Codec<'body'>;
  const json = found ? (found as unknown as JsonCoding) : jsonCoding(typed.type, rules);
  return {
    way: json.way,
    encode: (value) => {
      const written = json.encode(value);
      return written === undefined ? emptyBody : textBody(writeJson(written), JSON_TYPE);
    },
    decode: (body, context) => {
      const parsed = readJsonBody(body, context);
      return parsed instanceof Promise ? parsed.then((one) => json.decode(one)) : json.decode(parsed);
    },
  };
}

const JSON_TYPES = ['application/json'];

/** The body as parsed JSON; an empty one is undefined, which only schemas of optional values accept. */
export function readJsonBody(body: HttpBody, { maxBytes }: ReadContext): Json | Promise<Json> {
  checkMediaType(body, JSON_TYPES);
  const content = readText(body, maxBytes);
  return typeof content === 'string' ? parseContent(content) : content.then(parseContent);
}

const parseContent = (content: string): Json => (content === '' ? (undefined as unknown as Json) : parseJson(content));

export interface ResultCoding {
  readonly way: Way;
  encode(value: unknown): RestResponse;
  decode(response: RestResponse, context: ReadContext): unknown;
}

export function resultCoding(typed: SlotType, rules: readonly CodecRule[]): ResultCoding {
  const found = findCodec(typed, rules, ['response', 'body', 'json']);
  if (found?.raw === 'response') return found as Codec<'response'>;
  const body = bodyCoding(found ? { type: found } : typed, rules);
  return {
    way: body.way,
    encode: (value) => asResponse(body.encode(value)),
    decode: (response, context) =>
      response.status < 300
        ? body.decode(response.body, context)
        : errorOf(response).then((error) => Promise.reject(error)),
  };
}

const asResponse = (body: HttpBody): RestResponse => ({
  status: body.kind === 'empty' ? 204 : 200,
  headers: noEntries,
  body,
});

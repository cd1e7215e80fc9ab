import { bodyCoding, type JsonCoding, jsonCoding, readJsonBody, textCoding } from '../codec/lookup.js';
import { type Json, type ReadContext, isCodec } from '../codec/codec.js';
import { checkMediaType } from '../codec/bodies.js';
import { isPromise, type StandardSchema, validate } from '../codec/standard-schema.js';
import { checkWay, codingFor } from '../contract/coding-errors.js';
import type { Member, OperationMember, Slot } from '../contract/types.js';
import { readText } from '../raw/body.js';
import { Unreadable } from '../raw/failures.js';
import { FORM_TYPE } from '../raw/media-type.js';
import { type Entry, headerOf, isHeaderValue, type RestRequest } from '../raw/message.js';
import { decodeQuery } from '../raw/url.js';
import { missingArgument } from './bad-input.js';

type Values = Record<string, unknown>;

/** The decoded body, read once and before the single fields are. */
export type BodyContent =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly members: Readonly<Record<string, Json>> }
  | { readonly kind: 'form'; readonly entries: readonly Entry[] };
const NO_CONTENT: BodyContent = { kind: 'none' };

/** Source of one argument. `where` is the operation, for messages. */
export interface Reader {
  readonly slot: Slot;
  read(request: RestRequest, pathValue: string | undefined, content: BodyContent, context: ReadContext): unknown;
}

export function readerOf(where: string, member: Member, slot: Slot): Reader {
  const label = `'${slot.name}'`;
  if (slot.kind === 'body') {
    const coding = codingFor(where, label, () => bodyCoding(slot.definition, member.rules));
    checkWay(where, label, coding.way, 'decode');
    const read: Reader['read'] = ({ body }, _path, _content, context) => {
      if (body.kind !== 'empty') return coding.decode(body, context);
      try {
        return coding.decode(body, context);
      } catch (problem) {
        // Nothing was sent, and nothing is not what the operation reads.
        throw problem instanceof Unreadable ? missingArgument(where, slot) : problem;
      }
    };
    return { slot, read };
  }
  const isForm = member.kind === 'operation' && member.fieldPlace === 'form';
  if (slot.kind === 'field' && !isForm) return jsonFieldReader(where, member, slot);

  const coding = codingFor(where, label, () =>
    textCoding(slot.definition, slot.kind === 'field' ? 'query' : (slot.kind as 'query'), member.rules),
  );
  checkWay(where, label, coding.way, 'decode');
  const absent = absentReader(where, slot);
  const textsOf = textsFor(slot);
  return {
    slot,
    read(request, pathValue, content) {
      const texts = textsOf(request, pathValue, content);
      return texts.length === 0 ? absent() : coding.decode(texts);
    },
  };
}

function jsonFieldReader(where: string, member: Member, slot: Slot): Reader {
  const { definition, wireName } = slot;
  const coding: JsonCoding = codingFor(where, `'${slot.name}'`, () =>
    jsonCoding(definition.type, member.rules, definition.via),
  );
  checkWay(where, `'${slot.name}'`, coding.way, 'decode');
  const absent = absentReader(where, slot);
  return {
    slot,
    read(_request, _pathValue, content) {
      // Own members only: `toString` is on every object, and is in no request.
      return content.kind === 'json' && Object.hasOwn(content.members, wireName)
        ? coding.decode(content.members[wireName] as Json)
        : absent();
    },
  };
}

type Texts = readonly string[];
const NO_TEXTS: Texts = [];

function textsFor({
  kind,
  wireName,
}: Slot): (request: RestRequest, pathValue: string | undefined, content: BodyContent) => Texts {
  switch (kind) {
    case 'path':
      return (_request, pathValue) => (pathValue === undefined ? NO_TEXTS : [pathValue]);
    case 'query':
      return ({ query }) => named(query, wireName);
    case 'cookie':
      return ({ cookies }) => named(cookies, wireName).slice(0, 1);
    case 'header':
      return (request) => {
        const value = headerOf(request, wireName);
        if (value === undefined) return NO_TEXTS;
        if (!isHeaderValue(value))
          throw new Unreadable('holds line breaks, control characters, outer blanks or letters above U+00FF');
        return [value];
      };
    default:
      return (_request, _pathValue, content) => (content.kind === 'form' ? named(content.entries, wireName) : NO_TEXTS);
  }
}

function named(entries: readonly Entry[], name: string): Texts {
  let first: string | undefined;
  let all: string[] | undefined;
  for (const entry of entries) {
    if (entry[0] !== name) continue;
    if (first === undefined) first = entry[1];
    else (all ??= [first]).push(entry[1]);
  }
  return all ?? (first === undefined ? NO_TEXTS : [first]);
}

/** Substitute for a missing value: whenAbsent, else optional, else what the schema makes of nothing. */
function absentReader(where: string, slot: Slot): () => unknown {
  const { type, whenAbsentValue, optionalValue } = slot.definition;
  const stated = whenAbsentValue ?? optionalValue;
  if (stated) return () => stated.value;
  if (isCodec(type)) return () => missing(where, slot);
  return () => {
    const result = validate(type as StandardSchema, undefined);
    if (isPromise(result)) {
      return result.then((settled) => {
        const { issues, value } = settled as { issues?: unknown; value?: unknown };
        return issues ? missing(where, slot) : value;
      });
    }
    return result.issues ? missing(where, slot) : result.value;
  };
}

function missing(where: string, slot: Slot): never {
  throw missingArgument(where, slot);
}

/** Reads the body as far as the operation has fields in it. */
export function contentReader(
  member: OperationMember,
): ((request: RestRequest, context: ReadContext) => BodyContent | Promise<BodyContent>) | undefined {
  if (!member.slots.some((slot) => slot.kind === 'field')) return undefined;
  return member.fieldPlace === 'form' ? readForm : readMembers;
}

function readMembers({ body }: RestRequest, context: ReadContext): BodyContent | Promise<BodyContent> {
  if (body.kind === 'empty') return NO_CONTENT;
  const parsed = readJsonBody(body, context);
  return parsed instanceof Promise ? parsed.then(asMembers) : asMembers(parsed);
}

function asMembers(json: Json): BodyContent {
  if (json === undefined) return NO_CONTENT;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Unreadable('must be a JSON object');
  return { kind: 'json', members: json as Values as Record<string, Json> };
}

const FORM_TYPES = [FORM_TYPE];

function readForm({ body }: RestRequest, { maxBytes }: ReadContext): BodyContent | Promise<BodyContent> {
  if (body.kind === 'empty') return NO_CONTENT;
  checkMediaType(body, FORM_TYPES);
  const text = readText(body, maxBytes);
  return text instanceof Promise ? text.then(asForm) : asForm(text);
}

const asForm = (text: string): BodyContent => ({ kind: 'form', entries: decodeQuery(text, 'form') });

import {
  type BodyCoding,
  bodyCoding,
  type JsonCoding,
  jsonCoding,
  type ResultCoding,
  resultCoding,
  type TextCoding,
  textCoding,
} from '../codec/lookup.js';
import { writeJson } from '../codec/json.js';
import type { AnyContract, Member, OperationMember, PrefixMember, Slot } from '../contract/types.js';
import { checkWay, codingFor } from '../contract/coding-errors.js';
import { emptyBody, type HttpBody, textBody } from '../raw/body.js';
import { FORM_TYPE, JSON_TYPE } from '../raw/media-type.js';
import { type Entry, isHeaderValue, noEntries, type RestRequest } from '../raw/message.js';
import { encodeForm } from '../raw/url.js';
import { argumentReader, isLeftOut, type ReadArgument } from './arguments.js';

// Everything about a call that does not depend on its arguments is settled here, once per contract.

/** Parts of a request that prefixes have added so far. */
export interface Draft {
  readonly path: readonly string[];
  readonly query: readonly Entry[];
  readonly headers: readonly Entry[];
  readonly cookies: readonly Entry[];
}

export const emptyDraft: Draft = { path: [], query: noEntries, headers: noEntries, cookies: noEntries };

type Arguments = Record<string, unknown>;

export interface PlannedOperation {
  readonly kind: 'operation';
  readonly name: string;
  readonly result: ResultCoding;
  request(before: Draft, args: Arguments, context: Arguments): RestRequest;
}

export interface PlannedPrefix {
  readonly kind: 'prefix';
  readonly name: string;
  readonly target: () => Plan;
  extend(before: Draft, args: Arguments, context: Arguments): Draft;
}

export type PlannedMember = PlannedOperation | PlannedPrefix;
export interface Plan {
  readonly members: readonly PlannedMember[];
}

const plans = new WeakMap<AnyContract, Plan>();

export function planOf(contract: AnyContract): Plan {
  let plan = plans.get(contract);
  if (!plan) {
    plan = { members: contract.members.map((member) => planMember(`${contract.name}.${member.name}`, member)) };
    plans.set(contract, plan);
  }
  return plan;
}

function planMember(where: string, member: Member): PlannedMember {
  return member.kind === 'operation' ? planOperation(where, member) : planPrefix(where, member);
}

function planPrefix(where: string, member: PrefixMember): PlannedPrefix {
  const extend = draftWriter(where, member);
  return {
    kind: 'prefix',
    name: member.name,
    // Later: a contract may contain itself, and only a call says how deep.
    target: () => planOf(member.target()),
    extend,
  };
}

function planOperation(where: string, member: OperationMember): PlannedOperation {
  const result = codingFor(where, 'the result', () => resultCoding({ type: member.definition.result }, member.rules));
  checkWay(where, 'the result', result.way, 'decode');
  const draft = draftWriter(where, member);
  const body = bodyWriter(where, member);
  const { method } = member;
  return {
    kind: 'operation',
    name: member.name,
    result,
    request(before, args, context) {
      const { path, query, headers, cookies } = draft(before, args, context);
      return { method, path, query, headers, cookies, body: body(args, context) };
    },
  };
}

interface TextWriter {
  readonly slot: Slot;
  readonly coding: TextCoding;
  readonly read: ReadArgument;
}

function textWriter(where: string, member: Member, slot: Slot): TextWriter {
  const place = slot.kind === 'field' || slot.kind === 'body' ? 'query' : slot.kind;
  const coding = codingFor(where, `'${slot.name}'`, () => textCoding(slot.definition, place, member.rules));
  checkWay(where, `'${slot.name}'`, coding.way, 'encode');
  return { slot, coding, read: argumentReader(where, slot) };
}

/** The texts of one argument; none when it is left out. */
function textsOf(
  { slot, coding, read }: TextWriter,
  where: string,
  args: Arguments,
  context: Arguments,
): readonly string[] {
  const value = read(args, context);
  if (value === undefined || isLeftOut(slot, value)) return NO_TEXTS;
  try {
    return coding.encode(value);
  } catch (cause) {
    throw new TypeError(`'${slot.name}' of '${where}' cannot be sent: ${(cause as Error).message}`, { cause });
  }
}

const NO_TEXTS: readonly string[] = [];

function draftWriter(where: string, member: Member) {
  const writers = (kind: Slot['kind']) =>
    member.slots.filter((slot) => slot.kind === kind).map((slot) => textWriter(where, member, slot));
  const paths = writers('path');
  const queries = writers('query');
  const headers = writers('header');
  const cookies = writers('cookie');
  const { segments } = member;

  return (before: Draft, args: Arguments, context: Arguments): Draft => {
    const path = before.path.length === 0 ? segments.slice() : [...before.path, ...segments];
    for (const writer of paths) {
      path.push(onePathValue(writer, where, textsOf(writer, where, args, context)));
      if (writer.slot.suffix.length > 0) path.push(...writer.slot.suffix);
    }
    return {
      path,
      query: entries(before.query, queries, where, args, context),
      headers: headers.length === 0 ? before.headers : headerEntries(before.headers, headers, where, args, context),
      cookies: entries(before.cookies, cookies, where, args, context),
    };
  };
}

function onePathValue({ slot }: TextWriter, where: string, texts: readonly string[]): string {
  const [text] = texts;
  if (text === undefined) throw new TypeError(`'${slot.name}' of '${where}' is missing`);
  return text;
}

function entries(
  before: readonly Entry[],
  writers: readonly TextWriter[],
  where: string,
  args: Arguments,
  context: Arguments,
) {
  if (writers.length === 0) return before;
  const all = before.slice();
  for (const writer of writers) {
    for (const text of textsOf(writer, where, args, context)) all.push([writer.slot.wireName, text]);
  }
  return all;
}

function headerEntries(
  before: readonly Entry[],
  writers: readonly TextWriter[],
  where: string,
  args: Arguments,
  context: Arguments,
) {
  const all = entries(before, writers, where, args, context);
  for (let i = before.length; i < all.length; i += 1) {
    const [name, value] = all[i] as Entry;
    if (!isHeaderValue(value)) {
      throw new TypeError(
        `Header '${name}' of '${where}' cannot hold line breaks, control characters, outer blanks or letters above U+00FF`,
      );
    }
  }
  return all;
}

type WriteBody = (args: Arguments, context: Arguments) => HttpBody;

function bodyWriter(where: string, member: OperationMember): WriteBody {
  const whole = member.slots.find((slot) => slot.kind === 'body');
  if (whole) return wholeBodyWriter(where, member, whole);
  const fields = member.slots.filter((slot) => slot.kind === 'field');
  if (fields.length === 0) return () => emptyBody;
  return member.fieldPlace === 'form' ? formWriter(where, member, fields) : jsonWriter(where, member, fields);
}

function wholeBodyWriter(where: string, member: OperationMember, slot: Slot): WriteBody {
  const coding: BodyCoding = codingFor(where, `'${slot.name}'`, () => bodyCoding(slot.definition, member.rules));
  checkWay(where, `'${slot.name}'`, coding.way, 'encode');
  const read = argumentReader(where, slot);
  return (args, context) => coding.encode(read(args, context));
}

function formWriter(where: string, member: OperationMember, slots: readonly Slot[]): WriteBody {
  const writers = slots.map((slot) => textWriter(where, member, slot));
  return (args, context) => {
    const form = entries(noEntries, writers, where, args, context);
    return form.length === 0 ? emptyBody : textBody(encodeForm(form), FORM_TYPE);
  };
}

function jsonWriter(where: string, member: OperationMember, slots: readonly Slot[]): WriteBody {
  const writers = slots.map((slot) => {
    const coding: JsonCoding = codingFor(where, `'${slot.name}'`, () =>
      jsonCoding(slot.definition.type, member.rules, slot.definition.via),
    );
    checkWay(where, `'${slot.name}'`, coding.way, 'encode');
    return { slot, coding, read: argumentReader(where, slot) };
  });
  return (args, context) => {
    // Without a prototype a field named __proto__ is a field like any other.
    const json: Arguments = Object.create(null) as Arguments;
    let isWritten = false;
    for (const { slot, coding, read } of writers) {
      const value = read(args, context);
      if (value === undefined || isLeftOut(slot, value)) continue;
      const written = coding.encode(value);
      if (written === undefined) continue;
      json[slot.wireName] = written;
      isWritten = true;
    }
    return isWritten ? textBody(writeJson(json), JSON_TYPE) : emptyBody;
  };
}

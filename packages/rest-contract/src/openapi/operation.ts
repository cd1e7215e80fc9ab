import { FORM_TYPE, JSON_TYPE } from '../raw/media-type.js';
import { findCodec, jsonCoding, type SlotType, textCoding } from '../codec/lookup.js';
import { type Codec, type CodecKind, isCodec } from '../codec/codec.js';
import type { CodecRule } from '../codec/rules.js';
import { toJson } from '../codec/json.js';
import { isPromise, type StandardSchema, validate } from '../codec/standard-schema.js';
import type { Member, Slot, ErrorTypes } from '../contract/types.js';
import type { Shape } from '../codec/shape.js';
import type { Route } from '../server/routes.js';
import { adjust, type Schemas } from './schemas.js';
import type { JsonSchema, OperationObject, ParameterObject, RequestBodyObject, ResponseObject } from './types.js';

interface OperationContext {
  readonly schemas: Schemas;
  readonly rules: readonly CodecRule[];
  readonly where: string;
}

export function operationObject(
  route: Route,
  tags: readonly string[],
  operationId: string,
  pathNames: readonly string[],
  schemas: Schemas,
): OperationObject {
  const { operation, where } = route;
  const { options, rules, definition } = operation;
  const place: OperationContext = { schemas, rules, where };
  const parameters = parametersOf(route, pathNames, schemas);
  const requestBody = requestBodyOf(operation, place);
  const made: OperationObject = {
    operationId,
    ...(options.summary !== undefined && { summary: options.summary }),
    ...(options.description !== undefined && { description: options.description }),
    ...(options.deprecated && { deprecated: true }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(parameters.length > 0 && { parameters }),
    ...(requestBody && { requestBody }),
    responses: {
      ...responsesOf({ type: definition.result }, place),
      ...errorsOf(options.errors, place),
      ...options.responses,
    },
  };
  return options.adjust ? options.adjust(made) : made;
}

function parametersOf(route: Route, pathNames: readonly string[], schemas: Schemas): ParameterObject[] {
  const names = [...pathNames];
  return [...route.prefixes, route.operation].flatMap((member: Member) =>
    member.slots.flatMap((slot) => {
      if (slot.kind === 'field' || slot.kind === 'body') return [];
      const name = slot.kind === 'path' ? (names.shift() ?? slot.name) : slot.wireName;
      return [parameterObject(slot, name, { schemas, rules: member.rules, where: `'${slot.name}' of ${route.where}` })];
    }),
  );
}

function parameterObject(slot: Slot, name: string, place: OperationContext): ParameterObject {
  const kind = slot.kind as ParameterObject['in'];
  const made: ParameterObject = {
    name,
    in: kind,
    ...((kind === 'path' || !mayBeAbsent(slot)) && { required: true }),
    schema: schemaOf(slot, [kind, 'text'], place, (value) => textDefault(slot, kind, value, place)),
  };
  return slot.definition.adjustments.reduce((before, change) => change(before), made);
}

const TEXT_NUMBER = /^-?\d+(?:\.\d+)?$/;

/** JSON of the default: a number stays one, everything else is its text. */
function textDefault(slot: Slot, kind: ParameterObject['in'], value: unknown, { rules }: OperationContext): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const texts = textCoding(slot.definition, kind, rules).encode(value);
  const [text = ''] = texts;
  if (Array.isArray(value)) return [...texts];
  return typeof value === 'bigint' && TEXT_NUMBER.test(text) ? Number(text) : text;
}

/** The schema of a slot, with its default and adjusted as its declaration says. */
function schemaOf(
  slot: Slot,
  kinds: readonly CodecKind[],
  place: OperationContext,
  toJson: (value: unknown) => unknown,
): JsonSchema {
  const { definition } = slot;
  const schema = typeSchema(definition, kinds, place);
  const { whenAbsentValue } = definition;
  const withDefault = whenAbsentValue
    ? [(before: JsonSchema) => ({ ...before, default: toJson(whenAbsentValue.value) })]
    : [];
  return adjust(schema, [...withDefault, ...definition.schemaAdjustments]);
}

/** The codec's schema where a codec decides and has one, else the type's own. */
function typeSchema(
  typed: SlotType,
  kinds: readonly CodecKind[],
  { schemas, rules, where }: OperationContext,
): JsonSchema {
  const found = findCodec(typed, rules, kinds);
  return schemas.of(found && hasSchema(found) ? found : typed.type, where);
}

const hasSchema = ({ docs }: Codec) => docs.schema !== undefined || docs.inner !== undefined;

function mayBeAbsent({ definition }: Slot): boolean {
  if (definition.whenAbsentValue || definition.optionalValue) return true;
  if (isCodec(definition.type)) return false;
  const result = validate(definition.type as StandardSchema, undefined);
  return !isPromise(result) && !result.issues;
}

function requestBodyOf(member: Route['operation'], place: OperationContext): RequestBodyObject | undefined {
  const whole = member.slots.find((slot) => slot.kind === 'body');
  if (whole) return wholeBody(whole, place);
  const fields = member.slots.filter((slot) => slot.kind === 'field');
  if (fields.length === 0) return undefined;
  const isForm = member.fieldPlace === 'form';
  const required = fields.filter((slot) => !mayBeAbsent(slot)).map((slot) => slot.wireName);
  const properties = Object.fromEntries(fields.map((slot) => [slot.wireName, fieldSchema(slot, isForm, place)]));
  const schema: JsonSchema = { type: 'object', properties, ...(required.length > 0 && { required }) };
  return {
    ...(required.length > 0 && { required: true }),
    content: { [isForm ? FORM_TYPE : 'application/json']: { schema } },
  };
}

function fieldSchema(slot: Slot, isForm: boolean, place: OperationContext): JsonSchema {
  const at = { ...place, where: `'${slot.name}' of ${place.where}` };
  const { type, via } = slot.definition;
  return isForm
    ? schemaOf(slot, ['query', 'text'], at, (value) => textDefault(slot, 'query', value, at))
    : schemaOf(slot, ['json'], at, (value) => toJson(jsonCoding(type, at.rules, via).encode(value)));
}

function wholeBody(slot: Slot, place: OperationContext): RequestBodyObject {
  const { definition } = slot;
  const schema = adjust(typeSchema(definition, ['body', 'json'], place), definition.schemaAdjustments);
  return {
    ...(!mayBeAbsent(slot) && { required: true }),
    content: Object.fromEntries(mediaTypesOf(definition, place).map((type) => [type, { schema }])),
  };
}

function mediaTypesOf(typed: SlotType, { rules }: OperationContext): string[] {
  const types = findCodec(typed, rules, ['response', 'body', 'json'])?.docs.mediaTypes ?? [JSON_TYPE];
  // Parameters such as the charset belong to messages, not to the description of what they hold.
  return types.map((type) => type.replace(/;.*$/, ''));
}

function responsesOf(result: SlotType, place: OperationContext): Record<string, ResponseObject> {
  const at = { ...place, where: `The result of ${place.where}` };
  const found = findCodec(result, place.rules, ['response', 'body', 'json']);
  if (found?.raw === 'response') {
    return { ...(found.docs.responses ?? { default: { description: 'The result' } }) };
  }
  const schema = typeSchema(result, ['body', 'json'], at);
  const content = Object.fromEntries(mediaTypesOf(result, place).map((type) => [type, { schema }]));
  return {
    200: { description: 'Success', content },
    ...(acceptsNothing(result.type) && { 204: { description: 'Nothing' } }),
  };
}

function errorsOf(errors: ErrorTypes = {}, place: OperationContext): Record<string, ResponseObject> {
  const entries = Object.entries(errors).map(([status, type]) => {
    const schema = typeSchema({ type }, ['body', 'json'], { ...place, where: `Error ${status} of ${place.where}` });
    const content = Object.fromEntries(mediaTypesOf({ type }, place).map((mediaType) => [mediaType, { schema }]));
    return [status, { description: `Error ${status}`, content }] as const;
  });
  return Object.fromEntries(entries);
}

/** A result that may be undefined is an empty answer then. */
function acceptsNothing(type: Shape): boolean {
  if (isCodec(type)) return false;
  const result = validate(type as StandardSchema, undefined);
  return !isPromise(result) && !result.issues && result.value === undefined;
}

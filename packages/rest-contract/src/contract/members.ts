import type { CodecRule } from '../codec/rules.js';
import { type Codec, isCodec } from '../codec/codec.js';
import { isStandardSchema } from '../codec/standard-schema.js';
import type { AnyContract, AnyOperation, AnyPrefix, Definitions, SlotKind, Slot, Member } from './types.js';
import { ContractDefinitionError } from './errors.js';
import { checkName, segmentsOf } from './names.js';
import { definitionOf, isGroup, isParam, type ParamDefinition, type Params } from './params.js';
import { checkSlots } from './check-slots.js';

export function membersOf(contract: string, definitions: Definitions, rules: readonly CodecRule[]): Member[] {
  // `{ __proto__: … }` in a literal makes no member: it would vanish without a word.
  if (Object.getPrototypeOf(definitions) !== Object.prototype) {
    throw new ContractDefinitionError(`Contract '${contract}': operations must be a plain object without __proto__`);
  }
  return Object.entries(definitions).map(([name, definition]) => {
    checkName(contract, 'operation', name);
    return memberOf(contract, name, definition, rules);
  });
}

function memberOf(
  contract: string,
  name: string,
  definition: AnyOperation | AnyPrefix | AnyContract,
  rules: readonly CodecRule[],
): Member {
  const where = `${contract}.${name}`;
  if ('members' in definition) {
    return { kind: 'prefix', name, segments: [name], slots: [], target: () => definition, options: {}, rules };
  }
  const segments = segmentsOf(where, definition.options.path ?? name);
  if (definition.kind === 'prefix') {
    const slots = slotsOf(where, definition.params, 'path');
    const member: Member = {
      kind: 'prefix',
      name,
      segments,
      slots,
      target: definition.target,
      options: definition.options,
      rules,
    };
    checkSlots(where, member);
    return member;
  }
  const { method, fieldPlace, options, params, result } = definition;
  if (!isCodec(result) && !isStandardSchema(result)) {
    throw new ContractDefinitionError(
      `${where}: the result is neither a schema nor a codec (nothing at all is \`unit\`)`,
    );
  }
  const plain = fieldPlace === 'query' ? 'query' : 'field';
  const slots = slotsOf(where, params, plain);
  const member: Member = { kind: 'operation', name, segments, slots, method, fieldPlace, definition, options, rules };
  checkSlots(where, member);
  return member;
}

function slotsOf(where: string, params: Params, plain: SlotKind, outer: readonly string[] = []): Slot[] {
  if (Object.getPrototypeOf(params) !== Object.prototype) {
    throw new ContractDefinitionError(`${where}: parameters must be a plain object without __proto__`);
  }
  return Object.entries(params).flatMap(([name, entry]): Slot[] => {
    checkName(where, 'parameter', name);
    const keys = [...outer, name];
    if (isGroup(entry)) return slotsOf(where, entry.group, plain, keys);
    if (!isParam(entry) && !isCodec(entry) && !isStandardSchema(entry)) {
      throw new ContractDefinitionError(`${where}: '${name}' is neither a parameter nor a schema nor a codec`);
    }
    const definition: ParamDefinition = isParam(entry) ? entry.definition : definitionOf('plain', entry as Codec);
    const kind = definition.kind === 'plain' ? plain : definition.kind;
    const suffix = definition.suffix === undefined ? [] : segmentsOf(where, definition.suffix);
    return [{ keys, name, kind, wireName: definition.wireName ?? name, suffix, definition }];
  });
}

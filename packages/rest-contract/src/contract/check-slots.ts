import { isHeaderName } from '../raw/message.js';
import { ContractDefinitionError } from './errors.js';
import type { Member, Slot } from './types.js';

// What the compiler rejects, said again for those who come without it, and what it cannot see.

/** These describe the body or have a place of their own in a request. */
const RESERVED_HEADERS = new Set(['content-type', 'content-length', 'cookie']);

export function checkSlots(where: string, member: Member): void {
  const fail = (message: string): never => {
    throw new ContractDefinitionError(`${where}: ${message}`);
  };
  const bodies = member.slots.filter((slot) => slot.kind === 'body');
  const fields = member.slots.filter((slot) => slot.kind === 'field');
  const [body] = bodies;
  const first = body ?? fields[0];
  if (member.kind === 'prefix') {
    if (first) fail(`a prefix takes no body: '${first.name}' must be path, query, header or cookie`);
  } else {
    if (first && member.method === 'GET') fail(`GET takes no body: '${first.name}' must be path, query or header`);
    if (bodies.length > 1) fail(`an operation has one body: '${bodies[1]?.name}' is one too many`);
    if (body && member.fieldPlace === 'form') fail(`a form is made of fields: '${body.name}' cannot be its body`);
    if (body && fields[0])
      fail(`'${fields[0].name}' must be path, query, header or cookie: '${body.name}' is the whole body`);
  }
  for (const slot of member.slots) checkSlot(slot, fail);
  checkRepeats(member.slots, fail);
}

function checkSlot(slot: Slot, fail: (message: string) => never): void {
  const { whenAbsentValue, optionalValue } = slot.definition;
  if ((slot.kind === 'path' || slot.kind === 'body') && (whenAbsentValue || optionalValue)) {
    fail(`'${slot.name}' is a ${slot.kind} parameter and takes no default`);
  }
  if (slot.kind !== 'header') return;
  if (!isHeaderName(slot.wireName)) fail(`'${slot.wireName}' is not a header name`);
  if (RESERVED_HEADERS.has(slot.wireName.toLowerCase())) fail(`the header '${slot.wireName}' cannot be a parameter`);
}

/** Two parameters in one place under one name could not be told apart. */
function checkRepeats(slots: readonly Slot[], fail: (message: string) => never): void {
  const seen = new Set<string>();
  for (const slot of slots) {
    if (slot.kind === 'path' || slot.kind === 'body') continue;
    const key = placeKey(slot);
    if (seen.has(key)) fail(`two parameters are the ${slot.kind} '${slot.wireName}'`);
    seen.add(key);
  }
}

export const placeKey = (slot: Slot): string =>
  `${slot.kind} ${slot.kind === 'header' ? slot.wireName.toLowerCase() : slot.wireName}`;

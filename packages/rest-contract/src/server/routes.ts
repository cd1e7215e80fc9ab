import type { AnyContract, Member, OperationMember, PrefixMember, Slot } from '../contract/types.js';
import { ContractDefinitionError } from '../contract/errors.js';
import { placeKey } from '../contract/check-slots.js';

/** One operation with all prefixes in front of it. */
export interface Route {
  readonly prefixes: readonly PrefixMember[];
  readonly operation: OperationMember;
  /** `UserApi.getUser`: the contract the operation stands in. */
  readonly where: string;
  /** The chain of calls that reaches it: `UserApi.as.getUser`. */
  readonly call: string;
  /** A text is matched as it is, a slot takes any segment. */
  readonly pattern: readonly (string | Slot)[];
}

/** All operations, prefixes unfolded. */
export function routesOf(contract: AnyContract): Route[] {
  const routes: Route[] = [];
  collect(contract, { contracts: [contract], prefixes: [], call: contract.name, pattern: [] }, routes);
  return routes;
}

interface Walk {
  readonly contracts: readonly AnyContract[];
  readonly prefixes: readonly PrefixMember[];
  readonly call: string;
  readonly pattern: Route['pattern'];
}

function collect(contract: AnyContract, walk: Walk, routes: Route[]): void {
  for (const member of contract.members) {
    const call = `${walk.call}.${member.name}`;
    checkRepeatedNames(call, walk.prefixes, member);
    const pattern = [...walk.pattern, ...patternOf(member)];
    if (member.kind === 'operation') {
      routes.push({
        prefixes: walk.prefixes,
        operation: member,
        where: `${contract.name}.${member.name}`,
        call,
        pattern,
      });
      continue;
    }
    const target = member.target();
    if (walk.contracts.includes(target)) {
      throw new ContractDefinitionError(
        `${call}: contract '${target.name}' is a prefix of itself and cannot be served`,
      );
    }
    collect(
      target,
      { contracts: [...walk.contracts, target], prefixes: [...walk.prefixes, member], call, pattern },
      routes,
    );
  }
}

function patternOf(member: Member): (string | Slot)[] {
  const pattern: (string | Slot)[] = [...member.segments];
  for (const slot of member.slots) if (slot.kind === 'path') pattern.push(slot, ...slot.suffix);
  return pattern;
}

function checkRepeatedNames(call: string, prefixes: readonly PrefixMember[], member: Member): void {
  const before = new Set(prefixes.flatMap((prefix) => prefix.slots.filter(isNamed).map(placeKey)));
  for (const slot of member.slots) {
    if (isNamed(slot) && before.has(placeKey(slot))) {
      throw new ContractDefinitionError(`${call}: the ${slot.kind} '${slot.wireName}' is already one of its prefix`);
    }
  }
}

const isNamed = ({ kind }: Slot) => kind === 'query' || kind === 'header' || kind === 'cookie';

/** Two routes collide when some path fits both: a rule of precedence would only hide which one was meant. */
export function checkAmbiguity(routes: readonly Route[]): void {
  const rivals = new Map<string, Route[]>();
  for (const route of routes) {
    const key = `${route.operation.method} ${route.pattern.length}`;
    rivals.set(key, [...(rivals.get(key) ?? []), route]);
  }
  const lines: string[] = [];
  for (const group of rivals.values()) {
    group.forEach((one, index) => {
      for (const other of group.slice(index + 1)) {
        if (!fitOnePath(one.pattern, other.pattern)) continue;
        lines.push(`${describe(one)} and ${describe(other)}`);
      }
    });
  }
  if (lines.length > 0) {
    throw new ContractDefinitionError(`Operations that could answer the same request:\n  ${lines.join('\n  ')}`);
  }
}

const fitOnePath = (one: Route['pattern'], other: Route['pattern']) =>
  one.every((part, index) => typeof part !== 'string' || typeof other[index] !== 'string' || part === other[index]);

/** `GET /users/{id} (UserApi.getUser)` */
export const describe = (route: Route) => `${route.operation.method} ${pathTemplate(route)} (${route.call})`;

export const pathTemplate = ({ pattern }: Pick<Route, 'pattern'>) =>
  `/${pattern.map((part) => (typeof part === 'string' ? part : `{${part.name}}`)).join('/')}`;

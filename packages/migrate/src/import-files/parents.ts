import { type FlowEdge, pathUp } from '../../../../src/core/flows/index.js';
import { inOrder } from '../../../../src/core/in-order.js';
import type { Request } from '../../../../src/core/model/request.js';

/** Requests with which the flows begin that reach a request; none: nothing starts it. */
type Roots = ReadonlySet<string> | 'unknown';

/**
 * What differs for followers, by their ids. A job of Chronos runs when each of its parents has run since its own last run, whenever that
 * was. A follower here runs when each of them has run in one flow, and a flow begins with one job.
 */
export function notesOnParents(requests: readonly Request[]): Map<string, string[]> {
  const parentsOf = parentsById(requests);
  const edges = [...parentsOf].flatMap(([child, parents]) => parents.map((parent): FlowEdge => ({ child, parent })));
  const roots = rootsOf(parentsOf);
  return new Map(
    [...parentsOf].map(([id, parents]) => {
      const missing = parents.filter((parent) => !parentsOf.has(parent));
      const unknown = missing.map(
        (parent) => `its parent '${parent}' is not in the file: muster apply needs this request`,
      );
      if (!isNone(roots.get(id)!)) return [id, unknown];
      const circle = parents.flatMap((parent) => circleBy(parent, id, edges));
      const idle = parents.find((parent) => parentsOf.has(parent) && isNone(roots.get(parent)!));
      return [id, [...unknown, ...(circle.length > 0 ? circle : [whyNever(parents, idle)])]];
    }),
  );
}

type ParentsById = ReadonlyMap<string, readonly string[]>;

const parentsById = (requests: readonly Request[]): ParentsById =>
  new Map(requests.map(({ id, after = [] }) => [id, after.map(({ requestId }) => requestId)]));

/** A flow reaches a follower if it reaches each of its parents. In a circle a parent is not reached before its follower. */
function rootsOf(parentsOf: ParentsById): Map<string, Roots> {
  const found = new Map<string, Roots>();
  for (const id of inOrder([...parentsOf.keys()], (each) => parentsOf.get(each)!)) {
    const parents = parentsOf.get(id)!;
    const known = parents
      .map((parent) => (parentsOf.has(parent) ? (found.get(parent) ?? nowhere) : 'unknown'))
      .filter((roots) => roots !== 'unknown');
    const [first, ...others] = known;
    if (parents.length === 0) found.set(id, new Set([id]));
    else if (!first) found.set(id, 'unknown');
    else found.set(id, new Set([...first].filter((root) => others.every((roots) => roots.has(root)))));
  }
  return found;
}

const nowhere: ReadonlySet<string> = new Set();
const isNone = (roots: Roots): boolean => roots !== 'unknown' && roots.size === 0;

/** A job that is its own parent is refused with a better word. */
function circleBy(parent: string, id: string, edges: readonly FlowEdge[]): string[] {
  const path = parent === id ? undefined : pathUp(parent, id, edges);
  return path ? [`${[...path.toReversed(), id].join(' -> ')} is a circle: muster apply refuses it`] : [];
}

function whyNever(parents: readonly string[], idle: string | undefined): string {
  if (idle !== undefined) return `it never runs, because its parent '${idle}' never does`;
  const names = parents.map((parent) => `'${parent}'`).join(' and ');
  return (
    `it never runs: ${names} begin different flows (docs/flows.md), and there it runs when each has run since its last run; ` +
    'give them one first job to follow, in place of their own schedules'
  );
}

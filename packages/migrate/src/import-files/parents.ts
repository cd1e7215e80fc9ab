import { type FlowEdge, pathUp } from '../../../../src/core/flows/index.js';
import type { Request } from '../../../../src/core/model/request.js';

/** Requests with which the flows begin that reach a follower. */
type Roots = ReadonlySet<string> | 'unknown';

/**
 * What differs for followers, by their ids. A job of Chronos runs when each of its parents has run since its own last run, whenever that
 * was. A follower here runs when each of them has run in one flow, and a flow begins with one job.
 */
export function notesOnParents(requests: readonly Request[]): Map<string, string[]> {
  const parentsOf = new Map(requests.map(({ id, after = [] }) => [id, after.map(({ requestId }) => requestId)]));
  const edges = [...parentsOf].flatMap(([child, parents]) => parents.map((parent): FlowEdge => ({ child, parent })));
  const roots = new RootsOfFlows(parentsOf);
  return new Map(
    [...parentsOf].map(([id, parents]) => {
      const missing = parents.filter((parent) => !parentsOf.has(parent));
      const unknown = missing.map(
        (parent) => `its parent '${parent}' is not in the file: muster apply needs this request`,
      );
      const circle = parents.flatMap((parent) => {
        const path = parent === id ? undefined : pathUp(parent, id, edges);
        return path ? [`${[...path.toReversed(), id].join(' -> ')} is a circle: muster apply refuses it`] : [];
      });
      return [id, [...unknown, ...(circle.length > 0 ? circle : roots.neverRuns(id, parents))]];
    }),
  );
}

class RootsOfFlows {
  private readonly found = new Map<string, Roots>();

  constructor(private readonly parentsOf: ReadonlyMap<string, readonly string[]>) {}

  neverRuns(id: string, parents: readonly string[]): string[] {
    if (!isNone(this.of(id))) return [];
    const idle = parents.find((parent) => isNone(this.of(parent)));
    if (idle !== undefined) return [`it never runs, because its parent '${idle}' never does`];
    const names = parents.map((parent) => `'${parent}'`).join(' and ');
    return [
      `it never runs: ${names} begin different flows (docs/flows.md), and there it runs when each has run since its last run; ` +
        'give them one first job to follow, in place of their own schedules',
    ];
  }

  /** A flow reaches a follower if it reaches each of its parents. In a circle nothing begins. */
  private of(id: string): Roots {
    const known = this.found.get(id);
    if (known !== undefined) return known;
    const parents = this.parentsOf.get(id);
    this.found.set(id, new Set());
    const roots = parents === undefined ? 'unknown' : parents.length === 0 ? new Set([id]) : this.ofAll(parents);
    this.found.set(id, roots);
    return roots;
  }

  private ofAll(parents: readonly string[]): Roots {
    const known = parents.map((parent) => this.of(parent)).filter((roots) => roots !== 'unknown');
    const [first, ...others] = known;
    return first ? new Set([...first].filter((root) => others.every((roots) => roots.has(root)))) : 'unknown';
  }
}

const isNone = (roots: Roots): boolean => roots !== 'unknown' && roots.size === 0;
